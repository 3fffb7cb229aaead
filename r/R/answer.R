# Answers: data frames with estimates, and with the notes that belong to them.

KEPT <- c("level", "figures", "labels", "method", "joint", "notes", "caveats", "sql")
FIGURE <- c("estimate", "std_error", "low", "high")

query <- function(release, sql, level = 0.95, joint = FALSE, prob = NULL, test = NULL, prior = NULL, complete = FALSE,
                  labels = FALSE) {
  if (!is.character(sql) || length(sql) != 1) failed("a query is one text: SELECT \u2026")
  given <- options_of(level = level, joint = joint, prob = prob, test = test, prior = prior, complete = complete, labels = labels)
  answer(run("query", paths_of(release), sql, "--json", given), release, sql)
}

export <- function(release, table = NULL, out = NULL, format = c("csv", "parquet", "json-stat", "sdmx-csv"),
                   level = 0.95, finish = NULL) {
  path <- paths_of(release)
  if (length(path) != 1) failed("one release is exported at a time")
  if (is.null(table) && is.null(out)) failed("say which table, as in table = c(\"sex\", \"age\"), or in which folder: out =")
  table <- if (is.null(table)) "--all" else paste0("--table=", if (length(table)) paste(table, collapse = ",") else "total")
  given <- c(path, table, options_of(level = level, finish = finish))
  if (is.null(out)) return(answer(run("export", given, "--json"), release, NULL))
  run("export", given, options_of(format = match.arg(format), out = out))
  invisible(list.files(out, full.names = TRUE))
}

# The command's JSON as a data frame.
answer <- function(said, release, sql) {
  said <- fromJSON(said)
  rows <- if (is.data.frame(said$rows)) said$rows else data.frame()
  figures <- intersect(names(rows), names(said$method))
  several <- length(figures) > 1
  if (several) {
    rows <- rows[setdiff(names(rows), FIGURE)]
  } else {
    alone <- setdiff(figures, FIGURE)
    rows <- rows[setdiff(names(rows), c(alone, paste(rep(alone, each = 3), FIGURE[-1], sep = "_")))]
  }
  # Finished counts of an export stand before its figures.
  labels <- setdiff(labels_before(names(rows), c(figures, "estimate")), c(NA, said$finish$column))
  for (name in labels) rows[[name]] <- typed(rows[[name]], level_of(release, name))
  for (name in setdiff(names(rows), labels)) {
    if (is.logical(rows[[name]])) rows[[name]] <- as.numeric(rows[[name]])
  }
  for (name in if (several) figures else "estimate") rows <- unbounded(rows, name, several)
  structure(
    rows, class = c("margins_answer", "data.frame"), level = said$level, figures = if (several) figures else "estimate",
    labels = labels, method = said$method, joint = said$joint, notes = as.character(unlist(said$notes)),
    caveats = said$caveats, sql = sql
  )
}

# The names that stand before the first figure.
labels_before <- function(names, figures) names[seq_along(names) < min(match(figures, names), length(names) + 1, na.rm = TRUE)]

# An end of an interval that JSON leaves out is infinite, where there is an estimate.
unbounded <- function(rows, figure, several) {
  ends <- if (several) paste0(figure, c("_low", "_high")) else c("low", "high")
  for (end in intersect(ends, names(rows))) {
    open <- is.na(rows[[end]]) & !is.na(rows[[figure]])
    rows[[end]][open] <- if (endsWith(end, "low")) -Inf else Inf
  }
  rows
}

# Labels in the release's order: days are dates; numbers, bands of numbers and periods are ordered.
typed <- function(values, level) {
  if (is.numeric(values) || is.null(level) || !all(values %in% level$categories)) return(values)
  present <- level$categories[level$categories %in% values]
  if (all(grepl("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", present))) return(as.Date(values))
  bands <- level$numeric && all(grepl("^[[(]?[-+]?[0-9.]", present))
  factor(values, present, ordered = bands || all(grepl("^[0-9]{4}(-[0-9]{2}|-Q[1-4])?$", present)))
}

`[.margins_answer` <- function(x, ...) {
  part <- NextMethod()
  if (is.data.frame(part)) for (name in KEPT) attr(part, name) <- attr(x, name)
  part
}

as.data.frame.margins_answer <- function(x, ...) {
  for (name in KEPT) attr(x, name) <- NULL
  class(x) <- "data.frame"
  x
}

print.margins_answer <- function(x, ..., n = 100) {
  shown <- as.data.frame(x)
  numbers <- setdiff(names(shown)[vapply(shown, is.numeric, NA)], attr(x, "labels"))
  shown[numbers] <- lapply(shown[numbers], function(values) formatC(values, digits = 6, format = "g", big.mark = ""))
  print.data.frame(shown[seq_len(min(n, nrow(shown))), , drop = FALSE], row.names = FALSE)
  if (nrow(shown) > n) cat(sprintf("\u2026 and %d more rows\n", nrow(shown) - n))
  cat(sprintf(
    "Each interval covers the truth with probability %s%s.\n", format(attr(x, "level")),
    if (is.null(attr(x, "joint"))) "" else ", all together"
  ))
  said_of(attr(x, "notes"))
  invisible(x)
}

summary.margins_answer <- function(object, ...) {
  figures <- intersect(attr(object, "figures"), names(object))
  rows <- lapply(figures, function(figure) {
    one <- figure_of(object, figure)
    error <- if (is.null(one$std_error)) NA_real_ else one$std_error
    data.frame(
      figure = figure, rows = nrow(one), least = min(one$estimate), median = median(one$estimate),
      greatest = max(one$estimate), median_std_error = median(error), median_cv = median(error / abs(one$estimate))
    )
  })
  structure(
    list(figures = do.call(rbind, rows), level = attr(object, "level"), notes = attr(object, "notes")),
    class = "margins_summary"
  )
}

print.margins_summary <- function(x, ...) {
  print.data.frame(x$figures, row.names = FALSE, digits = 4)
  said_of(x$notes)
  invisible(x)
}

# A figure's estimate, standard error and interval, as far as they are among the columns.
figure_of <- function(answer, figure) {
  columns <- if (identical(figure, "estimate")) FIGURE else c(figure, paste(figure, FIGURE[-1], sep = "_"))
  missing <- setdiff(columns[-2], names(answer))
  if (length(missing)) failed(paste("the answer has no column", missing[1]))
  found <- as.data.frame(answer)[intersect(columns, names(answer))]
  setNames(found, FIGURE[columns %in% names(answer)])
}

plot.margins_answer <- function(x, figure = attr(x, "figures")[1], xlab = NULL, ylab = figure, ylim = NULL,
                                pch = 19, col = NULL, las = 1, ...) {
  one <- figure_of(x, figure)
  labels <- intersect(attr(x, "labels"), names(x))
  along <- if (length(labels)) x[[labels[1]]] else rep("total", nrow(x))
  if (is.character(along)) along <- factor(along, unique(along))
  others <- as.data.frame(x)[labels[-1]]
  group <- if (length(others)) interaction(others, drop = TRUE, sep = ", ") else factor(rep("", nrow(x)))
  colours <- if (is.null(col)) palette.colors(nlevels(group), "Okabe-Ito", recycle = TRUE) else col
  colours <- rep_len(colours, nlevels(group))[as.integer(group)]
  places <- sort(unique(as.numeric(along)))
  step <- if (length(places) > 1) min(diff(places)) else 1
  at <- as.numeric(along) + step / 2 * ((as.integer(group) - 0.5) / nlevels(group) - 0.5)
  if (is.null(ylim)) {
    ends <- c(one$low, one$high, one$estimate)
    ylim <- range(ends[is.finite(ends)])
  }
  far <- ylim + c(-1, 1) * diff(ylim)
  low <- pmax(one$low, far[1])
  high <- pmin(one$high, far[2])
  plot.default(
    at, one$estimate, ylim = ylim, xaxt = if (is.numeric(along)) "s" else "n", pch = pch, col = colours, las = las,
    xlab = if (is.null(xlab)) c(labels, "")[1] else xlab, ylab = ylab, ...
  )
  if (inherits(along, "Date")) axis(1, pretty(along), format(pretty(along)), las = las)
  if (is.factor(along)) axis(1, seq_len(nlevels(along)), levels(along), las = las)
  segments(at, low, at, high, col = colours)
  for (end in list(low, high)) segments(at - step / 20, end, at + step / 20, end, col = colours)
  if (nlevels(group) > 1) legend("topright", levels(group), col = unique(colours[order(group)]), pch = pch, bty = "n")
  invisible(x)
}
