# A release of made-up people, made here by the command, and everything the package does with it.
library(margins)

refused <- function(code, says) {
  error <- tryCatch({ code; NULL }, margins_error = function(error) conditionMessage(error))
  if (is.null(error) || !grepl(says, error, fixed = TRUE)) stop("expected: ", says, "\nsaid: ", error)
}

# Without a command there is an error that says what to do.
before <- options(margins.command = "/nowhere/margins")
refused(margins:::run("--version"), "options(margins.command")
options(before)

if (!nzchar(Sys.which(Sys.getenv("MARGINS_COMMAND", "margins")))) {
  if (nzchar(Sys.getenv("MARGINS_COMMAND"))) stop("MARGINS_COMMAND names no command")
  message("the command margins is not installed: nothing else is tested")
  quit("no")
}
margins <- function(...) {
  if (system2(Sys.which(Sys.getenv("MARGINS_COMMAND", "margins")), shQuote(c(...)), stdout = FALSE, stderr = FALSE)) {
    stop("the command failed: ", paste(..., sep = " "))
  }
}

home <- tempfile("margins with a blank")
dir.create(home)
before <- setwd(home)
writeLines(c(
  'name = "people"', 'title = "Made up"', "[data]", 'path = "people.csv"',
  "[privacy]", 'unit = { column = "id", max_rows = 1 }', 'rho = "1/2"',
  "[[dimension]]", 'name = "sex"', 'categories = ["M", "F"]', 'labels = { M = "men", F = "women" }',
  "[[dimension]]", 'name = "age"', "range = [0, 99]", 'levels = [{ name = "band", width = 5 }]',
  "[[dimension]]", 'name = "kids"', "range = [0, 3]", 'missing = "unknown"',
  "[[dimension]]", 'name = "day"', 'dates = ["2026-01-01", "2026-03-31"]',
  "[[table]]", 'of = ["sex", "age", "kids"]',
  "[[table]]", 'of = ["day", "sex"]'
), "people.toml")
set.seed(1)
people <- data.frame(
  id = 1:2000, sex = sample(c("M", "F"), 2000, TRUE), age = sample(0:99, 2000, TRUE),
  kids = sample(c(0:3, NA), 2000, TRUE), day = as.character(as.Date("2026-01-01") + sample(0:89, 2000, TRUE))
)
write.csv(people, "people.csv", row.names = FALSE, na = "")
margins("keygen", "--no-passphrase", "--out", "agency.key")
margins("release", "people.toml", "--key", "agency.key", "--ledger", "ledger.jsonl", "--out", "out")

# Opening and verifying.
release <- margins_open("out/people.margins", public_key = "agency.pub")
print(release)
checks <- verify(release, "agency.pub")
stopifnot(attr(checks, "passed"), "signer" %in% checks$what, nchar(attr(checks, "blake3")) == 64)
stopifnot(attr(verify(release), "verdict") == "verified", any(verify(release)$outcome == "warning"))
print(checks)
margins("keygen", "--no-passphrase", "--out", "other.key")
refused(margins_open("out/people.margins", public_key = "other.pub"), "is not verified: signer")
stopifnot(attr(verify(release, "other.pub"), "verdict") == "failed")
refused(margins_open("nothing.margins"), "there is no file nothing.margins")
bytes <- readBin("out/people.margins", "raw", 1e7)
writeBin(head(bytes, -9), "out/short.margins")
refused(margins_open("out/short.margins"), "short.margins")

# Describing.
said <- describe(release)
stopifnot(
  said$name == "people", "age.band" %in% said$dimensions$level, said$tables$cells == c(1000, 180),
  grepl("at most 1 row", said$caveats)
)
print(said)
stopifnot(identical(summary(release), said))

# Columns: factors in the release's order, bands ordered, numbers, days, and what is told of a missing number.
sexes <- query(release, "SELECT sex, COUNT(*) FROM people GROUP BY sex")
stopifnot(
  inherits(sexes, "data.frame"), identical(names(sexes), c("sex", "estimate", "std_error", "low", "high")),
  identical(levels(sexes$sex), c("M", "F")), !is.ordered(sexes$sex), is.double(sexes$estimate),
  sexes$low < sexes$estimate, sexes$estimate < sexes$high, abs(sexes$estimate - table(people$sex)[c("M", "F")]) < 60
)
named <- query(release, "SELECT sex, COUNT(*) AS people FROM people GROUP BY sex", level = 0.5)
stopifnot(identical(names(named), names(sexes)), attr(named, "level") == 0.5, named$high - named$low < sexes$high - sexes$low)
bands <- query(release, "SELECT age.band, sex, COUNT(*) FROM people GROUP BY age.band, sex")
stopifnot(is.ordered(bands$age.band), nlevels(bands$age.band) == 20, bands$age.band[1] < "95-99")
stopifnot(is.numeric(query(release, "SELECT age, COUNT(*) FROM people GROUP BY age")$age))
kids <- query(release, "SELECT kids, COUNT(*) FROM people GROUP BY kids")
stopifnot(is.factor(kids$kids), !is.ordered(kids$kids), tail(levels(kids$kids), 1) == "unknown")
days <- query(release, "SELECT day, COUNT(*) FROM people GROUP BY day")
stopifnot(inherits(days$day, "Date"), nrow(days) == 90)
months <- query(release, "SELECT day.month, COUNT(*) FROM people GROUP BY day.month")
stopifnot(is.ordered(months$day.month), levels(months$day.month)[3] == "2026-03")

# Several figures, options, and ends that are infinite.
two <- query(release, "SELECT sex, COUNT(*) AS people, AVG(kids) AS kids FROM people GROUP BY sex")
stopifnot(
  identical(attr(two, "figures"), c("people", "kids")), !"estimate" %in% names(two),
  two$kids_low < two$kids, two$kids < two$kids_high, any(grepl("unknown", attr(two, "notes")))
)
more <- query(release, "SELECT COUNT(*) FROM people", prob = "> 100", test = 0, joint = TRUE)
stopifnot(more$prob > 0.99, more$p_value < 0.01)
# Hardly anybody is below the line: the ratio may be as large as it likes.
wild <- query(release, paste(
  "SELECT 1.0 * COUNT(*) / SUM(CASE WHEN age = 7 AND kids = 3 AND sex = 'F' THEN 1 ELSE 0 END) AS times",
  "FROM people WHERE age < 50"
), level = 0.999999)
print(wild)
stopifnot(is.infinite(wild$low), is.infinite(wild$high), is.finite(wild$estimate))
# What codes stand for: beside them, or in their place.
beside <- query(release, "SELECT sex, COUNT(*) FROM people GROUP BY sex", labels = TRUE)
stopifnot(
  identical(names(beside)[1:3], c("sex", "sex_label", "estimate")), identical(attr(beside, "labels"), c("sex", "sex_label")),
  identical(levels(beside$sex), c("M", "F")), identical(beside$sex_label, c("men", "women"))
)
only <- query(release, "SELECT sex, COUNT(*) FROM people GROUP BY sex", labels = "only")
stopifnot(identical(only$sex, c("men", "women")), identical(only$estimate, beside$estimate))
# Places, which equal counts share, and values that are there.
places <- query(release, "SELECT kids, COUNT(kids) AS n, RANK() OVER (ORDER BY COUNT(*)) AS place, RANK() OVER (ORDER BY COUNT(*)) <= 2 AS least FROM people WHERE kids IS NOT NULL GROUP BY kids")
stopifnot(nrow(places) == 4, places$place == rank(places$n, ties.method = "min"), places$place_low <= places$place, places$least >= 0, places$least <= 1)
refused(query(release, "SELECT shoe, COUNT(*) FROM people GROUP BY shoe"), "shoe")
refused(query(release, "SELECT COUNT(*) FROM people", prob = "nonsense"), "is no statement")
refused(query("out/people.margins", "SELECT COUNT(*) FROM people"), "margins_open()")

# Notes and caveats stay with what is selected, and are printed.
some <- bands[bands$sex == "F", c("age.band", "estimate", "low", "high")]
stopifnot(nrow(some) == 20, inherits(some, "margins_answer"), identical(attr(some, "notes"), attr(bands, "notes")))
stopifnot(attr(bands, "caveats")$status == "truncated")
stopifnot(any(grepl("^! Counts at most 1 row of each id", capture.output(print(some)))))
plain <- as.data.frame(bands)
stopifnot(identical(class(plain), "data.frame"), is.null(attr(plain, "notes")))
print(summary(two))
stopifnot(summary(bands)$figures$rows == 40)

# Exports are the same figures.
whole <- export(release, c("sex", "age", "kids"))
stopifnot(nrow(whole) == 1000, identical(names(whole)[1:4], c("sex", "age", "kids", "estimate")))
finished <- export(release, c("day", "sex"), finish = "nonnegative-integral")
stopifnot(finished$finished_biased >= 0, finished$finished_biased == round(finished$finished_biased))
stopifnot(identical(attr(finished, "labels"), c("day", "sex")), identical(attr(finished, "figures"), "estimate"))
files <- export(release, out = "tables")
stopifnot("datapackage.json" %in% basename(files), any(grepl("csv$", files)))
refused(export(release), "say which table")

# Sums and means of a table are figures, too. Of nobody there is no mean, and of what may be nobody one without ends; a dimension that is called as a
# figure is has another name.
writeLines(c(
  'name = "wages"', 'title = "Made up, too"', "[data]", 'path = "wages.csv"', "[privacy]", 'unit = "row"', 'rho = "1/2"',
  "[[dimension]]", 'name = "low"', 'column = "sex"', 'categories = ["M", "F", "X"]',
  "[[dimension]]", 'name = "kids"', "range = [0, 3]",
  "[[amount]]", 'name = "pay"', "low = 0", "high = 100", "step = 1",
  "[[table]]", 'of = ["low"]', 'sum = ["pay"]', "exact = true", 'reason = "the report has it"',
  "[[table]]", 'of = ["kids"]', 'sum = ["pay"]'
), "wages.toml")
write.csv(data.frame(sex = rep(c("M", "F"), c(30, 20)), kids = rep(0:1, 25), pay = 1:50), "wages.csv", row.names = FALSE)
margins("release", "wages.toml", "--key", "agency.key", "--ledger", "wages.jsonl", "--out", "out")
wages <- margins_open("out/wages.margins")
shown <- capture.output(print(describe(wages)))
stopifnot(any(grepl("^Published without noise: low", shown)), any(grepl("^! pay: values below 0 count as 0", shown)))
pay <- export(wages, "low")
stopifnot(
  identical(attr(pay, "figures"), c("count", "SUM(pay)", "AVG(pay)")), identical(attr(pay, "labels"), "low_"),
  identical(levels(pay$low_), c("M", "F", "X")), pay$count == c(30, 20, 0), pay[["SUM(pay)"]] == c(465, 810, 0),
  identical(is.na(pay[["AVG(pay)"]]), c(FALSE, FALSE, TRUE)), any(grepl("a ratio", attr(pay, "notes")))
)
few <- export(wages, "kids", level = 0.999999)
stopifnot(identical(attr(few, "labels"), "kids"), few[["AVG(pay)_low"]][4] == -Inf, few[["AVG(pay)_high"]][4] == Inf)
print(summary(few))

# Pictures are drawn, of every kind of axis.
pdf("plots.pdf")
for (drawn in list(sexes, bands, kids, days, months, more, some)) plot(drawn)
plot(two, "kids", ylab = "children")
invisible(dev.off())
stopifnot(file.size("plots.pdf") > 5000)
setwd(before)
