# Releases: what they say of themselves, and whether they are what they seem.

margins_open <- function(path, public_key = NULL, recipient = NULL) {
  if (!is.character(path) || !length(path)) failed("margins_open() takes the path of a release, or several")
  missing <- path[!file.exists(path)]
  if (length(missing)) failed(paste("there is no file", missing[1]))
  release <- structure(list(path = normalizePath(path)), class = "margins_release")
  if (!is.null(public_key) || !is.null(recipient)) {
    found <- verify(release, public_key, recipient)
    if (attr(found, "verdict") != "verified") {
      bad <- found[found$outcome %in% c("failed", "unchecked"), ]
      failed(paste0(basename(bad$file[1]), " is not verified: ", bad$what[1], ": ", bad$detail[1]))
    }
  }
  release$descriptions <- lapply(release$path, function(path) fromJSON(run("describe", path, "--json")))
  release
}

describe <- function(release) {
  paths_of(release)
  found <- lapply(release$descriptions, function(said) {
    levels <- do.call(rbind, Map(function(name, levels) {
      data.frame(dimension = name, level = levels$name, categories = lengths(levels$categories), numeric = levels$numeric)
    }, said$dimensions$name, said$dimensions$levels))
    tables <- as.data.frame(said$tables[setdiff(names(said$tables), "levels")])
    tables <- cbind(table = vapply(said$tables$levels, paste, "", collapse = ","), tables)
    said$dimensions <- `rownames<-`(levels, NULL)
    said$tables <- tables
    said$caveats <- as.character(unlist(said$untrue))
    structure(said[setdiff(names(said), c("untrue", "more_tables"))], class = "margins_description")
  })
  if (length(found) == 1) found[[1]] else found
}

verify <- function(release, public_key = NULL, recipient = NULL) {
  found <- lapply(paths_of(release), function(path) {
    said <- run("verify", path, "--json", options_of(pubkey = public_key, recipient = recipient), accepted = 0:1)
    if (!nzchar(said)) failed(paste("the command said nothing of", path))
    fromJSON(said)
  })
  verdicts <- vapply(found, `[[`, "", "verdict")
  worst <- intersect(c("failed", "whole", "verified"), verdicts)[1]
  checks <- do.call(rbind, Map(function(path, one) {
    outcome <- factor(one$checks$outcome, c("passed", "warning", "skipped", "unchecked", "failed"))
    data.frame(file = path, what = one$checks$what, outcome = outcome, detail = one$checks$detail)
  }, paths_of(release), found))
  structure(
    `rownames<-`(checks, NULL), class = c("margins_verification", "data.frame"),
    verdict = worst, passed = worst == "verified", blake3 = vapply(found, `[[`, "", "blake3")
  )
}

# The level of that name as the releases describe it, or NULL. A dimension that is called as a figure is has underscores behind it in an export.
level_of <- function(release, name) {
  for (called in unique(c(name, sub("_+$", "", name)))) {
    for (said in release$descriptions) {
      for (levels in said$dimensions$levels) {
        at <- match(called, levels$name)
        if (!is.na(at)) return(list(numeric = levels$numeric[at], categories = levels$categories[[at]]))
      }
    }
  }
}

print.margins_release <- function(x, ...) {
  for (said in x$descriptions) {
    cat(sprintf("<margins release %s: %s>\n", said$name, said$title))
    cat(strwrap(paste("Protects:", said$protects)), sep = "\n")
    said_of(said$untrue)
  }
  invisible(x)
}

summary.margins_release <- function(object, ...) describe(object)

print.margins_description <- function(x, ...) {
  cat(sprintf("%s: %s\n", x$name, x$title))
  if (!is.null(x$description)) cat(strwrap(x$description), sep = "\n")
  cat(strwrap(paste0("Made ", x$made, ", signed ", x$signed, ". Protects: ", x$protects)), sep = "\n")
  listed("A copy for", x$recipient)
  listed("Published without noise:", x$exact)
  listed("Declared to be empty:", x$empty)
  cat("\nDimensions and their levels:\n")
  print.data.frame(x$dimensions, row.names = FALSE)
  cat(sprintf("\nTables (the margin holds with probability %s):\n", format(x$level)))
  print.data.frame(x$tables, row.names = FALSE, digits = 3)
  said_of(c(x$caveats, x$amounts$note))
  invisible(x)
}

print.margins_verification <- function(x, ...) {
  cat(sprintf("%-9s  %-22s  %s\n", x$outcome, x$what, x$detail), sep = "")
  cat(c(
    verified = "VERIFIED", whole = "WHOLE, NOT VERIFIED", failed = "VERIFICATION FAILED: do not trust this file"
  )[[attr(x, "verdict")]], "\n", sep = "")
  invisible(x)
}

# What there is of these, in one paragraph.
listed <- function(what, items) {
  items <- as.character(unlist(items))
  if (length(items)) cat(strwrap(paste(what, paste(items, collapse = "; "))), sep = "\n")
}

# Notes and caveats, as every print shows them.
said_of <- function(notes) {
  for (note in as.character(unlist(notes))) cat(strwrap(note, initial = "! ", prefix = "  "), sep = "\n")
}
