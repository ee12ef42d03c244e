/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_published.c - what others measured, facts and figures from public mail
 * threads.
 */
#include "report_published.h"

#include <string.h>

#include "base/defs.h"

#define BASE "always notify"

static const struct published_row rr_rows[] = {
	{ "+ lazy TX free", BASE, 4 },
	{ "+ delayed kick 5/2000us", BASE, 23 },
	{ "EVENT_IDX", BASE, 29 },
	{ "bare", BASE, 137 },
};

static const struct published_row order_rows[] = {
	{ "platform, 1 flow", "smp, 1 flow", -14 },
	{ "platform, 10 flows", "smp, 10 flows", -14 },
	{ "platform, 100 flows", "smp, 100 flows", -14 },
};

static const char rr_table[] =
	"<table class=\"published\"><tr><th>variant (2011)</th>"
	"<th>transactions/s</th><th>packets/s</th><th>exits/s</th>"
	"<th>of bare metal</th></tr>"
	"<tr><th>bare metal, 2 CPUs</th><td>206390</td><td>410048</td>"
	"<td></td><td>100 %</td></tr>"
	"<tr><th>baseline</th><td>87070</td><td>172992</td><td>148445</td>"
	"<td>42 %</td></tr>"
	"<tr><th>delayed freeing of TX buffers</th><td>90886</td>"
	"<td>180571</td><td>142682</td><td>44 %</td></tr>"
	"<tr><th>and delayed kick, 5 packets or 2000 us</th><td>107106</td>"
	"<td>212796</td><td>102587</td><td>52 %</td></tr>"
	"<tr><th>and rx interrupt pinned to one CPU</th><td>153697</td>"
	"<td>305358</td><td>62603</td><td>74 %</td></tr>"
	"<tr><th>baseline, rx interrupt pinned to CPU0</th><td>108212</td>"
	"<td>214994</td><td>119310</td><td></td></tr>"
	"<tr><th>published last used index</th><td>112180</td>"
	"<td>222878</td><td>96280</td><td></td></tr></table>\n";

static const char order_table[] =
	"<table class=\"published\"><tr><th>full barriers where SMP ones "
	"suffice (2011)</th><th>effect</th></tr>"
	"<tr><th>TCP_RR throughput</th><td>down by up to 14 %</td></tr>"
	"<tr><th>CPU use</th><td>up by up to 35 %</td></tr>"
	"<tr><th>throughput per CPU</th><td>7 to 35 % worse</td></tr>"
	"</table>\n";

static const char pps_table[] =
	"<table class=\"published\"><tr><th>64 B back to the guest "
	"(2016)</th><th>before, Mpps</th><th>after, Mpps</th></tr>"
	"<tr><th>mergeable</th><td>7.72</td><td>9.19</td></tr>"
	"<tr><th>not mergeable</th><td>10.52</td><td>10.60</td></tr>"
	"</table>\n";

static const struct published all[] = {
	{ "rr",
	  "TCP request and response, 100 connections, 256 bytes, between a "
	  "machine and a guest through vhost-net in 2011; the effect on "
	  "transactions a second. There, a notification left the guest.",
	  rr_rows, array_len(rr_rows), rr_table },
	{ "order",
	  "TCP_RR with full device barriers instead of those between "
	  "processors, 2011: the largest loss of throughput.",
	  order_rows, array_len(order_rows), order_table },
	{ "pps",
	  "DPDK's vhost, 2016, on other machines: only the difference between "
	  "mergeable and single buffers can be compared.",
	  NULL, 0, pps_table },
};

const struct published *published_find(const char *question)
{
	for (unsigned i = 0; i < array_len(all); i++)
		if (!strcmp(all[i].question, question))
			return &all[i];
	return NULL;
}
