# The command `margins`: where it is, what it is told, what it says.

command <- function() {
  told <- getOption("margins.command", Sys.getenv("MARGINS_COMMAND", unset = "margins"))
  found <- Sys.which(path.expand(told))
  if (!nzchar(found)) {
    failed(paste0(
      "there is no command `", told, "`: install margins, or say where the command is with ",
      "options(margins.command = \"/path/to/margins\") or in the environment variable MARGINS_COMMAND"
    ))
  }
  unname(found)
}

failed <- function(message) {
  stop(structure(list(message = message, call = NULL), class = c("margins_error", "error", "condition")))
}

# What the command prints on standard output. Its warnings are R's; if it fails, the error is its own text.
run <- function(..., accepted = 0L) {
  said <- tempfile("margins")
  on.exit(unlink(paste0(said, c(".out", ".err"))))
  args <- shQuote(c(...), type = if (.Platform$OS.type == "windows") "cmd" else "sh")
  status <- suppressWarnings(system2(command(), args, stdout = paste0(said, ".out"), stderr = paste0(said, ".err")))
  errors <- paste(readLines(paste0(said, ".err"), encoding = "UTF-8", warn = FALSE), collapse = "\n")
  if (!status %in% accepted) {
    failed(if (nzchar(errors)) sub("(^|.*\n)error: ", "", errors) else paste("the command stopped with code", status))
  }
  for (line in regmatches(errors, gregexpr("(?m)^warning: .*$", errors, perl = TRUE))[[1]]) {
    warning(sub("warning: ", "", line), call. = FALSE)
  }
  paste(readLines(paste0(said, ".out"), encoding = "UTF-8", warn = FALSE), collapse = "\n")
}

# Options of the command: those that are NULL or FALSE are left out.
options_of <- function(...) {
  given <- list(...)
  given <- given[!vapply(given, function(value) is.null(value) || identical(value, FALSE), NA)]
  unlist(Map(function(name, value) {
    paste0("--", name, if (!isTRUE(value)) paste0("=", format(value, digits = 15)))
  }, names(given), given), use.names = FALSE)
}

paths_of <- function(release) {
  if (!inherits(release, "margins_release")) failed("the first argument is no release: open one with margins_open()")
  release$path
}
