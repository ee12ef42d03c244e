/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - `viaduct report`: answers of `viaduct bench --json` as one page of
 * HTML that needs nothing else: a plot a column (SVG), the figures as a table,
 * and what was published about the same question beside them.
 *
 * What stands in the files is data, not markup: every text is escaped.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "report_published.h"

#define WIDTH 720.0 /* of a plot */
#define LEFT  240.0 /* names stand before it */
#define BAR   16.0
#define PITCH 22.0
#define RIGHT 90.0 /* figures stand behind it */

static void put_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", to);
		else if (*text == '>')
			fputs("&gt;", to);
		else if (*text == '&')
			fputs("&amp;", to);
		else if (*text == '"')
			fputs("&quot;", to);
		else
			fputc(*text, to);
	}
}

static const char *text_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? text : "";
}

static double cell_of(const json_t *row, const char *column, const char *which)
{
	const json_t *c =
		json_object_get(json_object_get(row, "values"), column);

	return json_number_value(json_object_get(c, which));
}

static int digits_for(double x)
{
	return x >= 100 || x == 0 ? 0 : x >= 1 ? 2 : 4;
}

static void put_number(FILE *to, double x)
{
	fprintf(to, "%.*f", digits_for(x), x);
}

/* --- plots -------------------------------------------------------------- */

static void plot_row(FILE *to, const json_t *row, const char *column, double y,
                     double most)
{
	double x = cell_of(row, column, "median");
	double scale = most > 0 ? (WIDTH - LEFT - RIGHT) / most : 0;
	double a = LEFT + scale * cell_of(row, column, "min");
	double b = LEFT + scale * cell_of(row, column, "max");

	fprintf(to, "<text class=\"name\" x=\"%g\" y=\"%g\">", LEFT - 8,
	        y + BAR - 4);
	put_text(to, text_of(row, "name"));
	fprintf(to,
	        "</text><rect class=\"mark\" x=\"%g\" y=\"%g\" width=\"%.1f\" "
	        "height=\"%g\"/>"
	        "<line class=\"spread\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" "
	        "y2=\"%g\"/><text x=\"%.1f\" y=\"%g\">",
	        LEFT, y, scale * x, BAR, a, b, y + BAR / 2, y + BAR / 2, b + 6,
	        y + BAR - 4);
	put_number(to, x);
	fputs("</text>\n", to);
}

static void plot(FILE *to, const json_t *rows, const char *column)
{
	double most = 0, y = 4;
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		double x = cell_of(row, column, "max");

		most = x > most ? x : most;
	}
	fputs("<figure><figcaption>", to);
	put_text(to, column);
	fprintf(to, "</figcaption><svg viewBox=\"0 0 %g %g\" width=\"%g\">\n",
	        WIDTH, (double)json_array_size(rows) * PITCH + 8, WIDTH);
	json_array_foreach(rows, i, row)
	{
		plot_row(to, row, column, y, most);
		y += PITCH;
	}
	fputs("</svg></figure>\n", to);
}

/* --- figures ------------------------------------------------------------ */

static void figures(FILE *to, const json_t *columns, const json_t *rows)
{
	const json_t *row, *column;
	size_t i, k;

	fputs("<table><tr><th></th>", to);
	json_array_foreach(columns, k, column)
	{
		fputs("<th>", to);
		put_text(to, json_string_value(column));
		fputs("</th>", to);
	}
	fputs("</tr>\n", to);
	json_array_foreach(rows, i, row)
	{
		fputs("<tr><th>", to);
		put_text(to, text_of(row, "name"));
		fputs("</th>", to);
		json_array_foreach(columns, k, column)
		{
			fputs("<td>", to);
			put_number(to, cell_of(row, json_string_value(column),
			                       "median"));
			fputs("</td>", to);
		}
		fputs("</tr>\n", to);
	}
	fputs("</table>\n", to);
}

/* --- what was published ------------------------------------------------- */

static const json_t *row_named(const json_t *rows, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) if (!strcmp(text_of(row, "name"),
	                                             name)) return row;
	return NULL;
}

/* How the two effects, in per cent, agree. */
static const char *judge(double ours, double theirs)
{
	if ((ours > 0) != (theirs > 0))
		return "The other direction: explain it before believing it.";
	ours = ours < 0 ? -ours : ours;
	theirs = theirs < 0 ? -theirs : theirs;
	if (ours > 2 * theirs && ours > theirs + 5)
		return "The same direction, more than twice the effect.";
	if (ours < theirs / 2 && ours < theirs - 5)
		return "The same direction, less than half the effect.";
	return "The same direction and about the size.";
}

static void effect(FILE *to, const json_t *rows, const char *column,
                   const struct published_row *p)
{
	const json_t *base = row_named(rows, p->base);
	const json_t *row = row_named(rows, p->row);
	double from, ours;

	if (!base || !row)
		return;
	from = cell_of(base, column, "median");
	if (from <= 0)
		return;
	ours = 100 * (cell_of(row, column, "median") / from - 1);
	fputs("<tr class=\"effect\"><th>", to);
	put_text(to, p->row);
	fprintf(to, "</th><td>%+.0f %%</td><td>%+.0f %%</td><td>", ours,
	        p->percent);
	put_text(to, judge(ours, p->percent));
	fputs("</td></tr>\n", to);
}

static void compare(FILE *to, const char *question, const json_t *columns,
                    const json_t *rows)
{
	const char *first = json_string_value(json_array_get(columns, 0));
	const struct published *p = published_find(question);

	if (!p || !first)
		return;
	fputs("<h3>Beside what was published</h3><p>", to);
	put_text(to, p->what);
	fputs("</p><table><tr><th></th><th>here</th><th>published</th>"
	      "<th></th></tr>\n",
	      to);
	for (unsigned i = 0; i < p->nrows; i++)
		effect(to, rows, first, &p->rows[i]);
	fputs("</table>\n", to);
	fputs(p->table, to);
}

/* --- the page ----------------------------------------------------------- */

static void begin_page(FILE *to)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
	      "<title>viaduct bench</title>\n<style>"
	      "body{font:15px/1.4 sans-serif;max-width:60em;margin:2em auto;"
	      "padding:0 1em}"
	      "table{border-collapse:collapse;font-size:13px;margin:1em 0}"
	      "td,th{padding:2px 8px;text-align:right;"
	      "border-bottom:1px solid #ddd}"
	      "th:first-child{text-align:left}"
	      "svg{max-width:100%;height:auto}svg text{font-size:12px}"
	      "figure{margin:1em 0}figcaption{font-weight:bold}"
	      ".name{text-anchor:end}.mark{fill:#4477aa}"
	      ".spread{stroke:#222}</style>\n<h1>viaduct bench</h1>\n",
	      to);
}

static void section(FILE *to, const json_t *answer)
{
	const json_t *machine = json_object_get(answer, "machine");
	const json_t *columns = json_object_get(answer, "columns");
	const json_t *rows = json_object_get(answer, "rows");
	const json_t *column;
	size_t i;

	fputs("<section><h2>", to);
	put_text(to, text_of(answer, "bench"));
	fputs("</h2><p>", to);
	put_text(to, text_of(answer, "text"));
	fputs(".</p><p><code>", to);
	put_text(to, text_of(answer, "command"));
	fputs("</code>: ", to);
	put_text(to, text_of(machine, "cpu"));
	fputs(", ", to);
	put_text(to, text_of(machine, "kernel"));
	fprintf(to,
	        ", %lld cores, load %.1f; medians of %lld, lines show the "
	        "extremes.</p>\n",
	        json_integer_value(json_object_get(machine, "cores")),
	        json_number_value(json_object_get(machine, "load")),
	        json_integer_value(json_object_get(answer, "repeats")));
	json_array_foreach(columns, i, column)
		plot(to, rows, json_string_value(column));
	figures(to, columns, rows);
	compare(to, text_of(answer, "bench"), columns, rows);
	fputs("</section>\n", to);
}

/* Is it an answer of ours? Columns are texts, rows are objects. */
static bool is_answer(const json_t *a)
{
	const json_t *columns = json_object_get(a, "columns"), *item;
	const json_t *rows = json_object_get(a, "rows");
	size_t i;

	if (!json_is_array(columns) || !json_is_array(rows) ||
	    !json_is_string(json_object_get(a, "bench")))
		return false;
	json_array_foreach(columns, i,
	                   item) if (!json_is_string(item)) return false;
	json_array_foreach(rows, i, item) if (
		!json_is_object(json_object_get(item, "values"))) return false;
	return true;
}

static int add_file(const char *path, FILE *to)
{
	json_error_t err;
	json_t *answer = json_load_file(path, 0, &err);
	int rc = 1;

	if (!answer)
		fprintf(stderr, "viaduct report: %s: %s\n", path, err.text);
	else if (!is_answer(answer))
		fprintf(stderr,
		        "viaduct report: %s is no answer of viaduct bench "
		        "--json\n",
		        path);
	else
		rc = 0;
	if (!rc)
		section(to, answer);
	json_decref(answer);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	int rc = 0;

	if (argc < 2 || argv[1][0] == '-') {
		bool asked = argc > 1 && !strcmp(argv[1], "--help");

		fputs("usage: viaduct report FILE.json... > report.html\n",
		      asked ? stdout : stderr);
		return asked ? 0 : 2;
	}
	begin_page(stdout);
	for (int i = 1; i < argc && !rc; i++)
		rc = add_file(argv[i], stdout);
	fputs("</html>\n", stdout);
	return rc;
}
