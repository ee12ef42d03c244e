/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command.h - the subcommands of viaduct, one file each. Only cli includes it.
 *
 * A subcommand gets its own arguments, argv[0] being its name, and answers with
 * the exit status.
 */
#ifndef VIADUCT_CLI_COMMAND_H
#define VIADUCT_CLI_COMMAND_H

/* Where viaductd is asked unless said otherwise; $VIADUCT_CONTROL goes before
 * it. */
#define CONTROL_DEFAULT "/run/viaduct/control.sock"

int cmd_bench(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_status(int argc, char **argv);

#endif
