# What R says of measurements.csv and ratios.csv: Rscript statistics.R FOLDER_OF_THEM FOLDER_FOR_RESULTS
# Only packages that come with R; made with R 4.2.2.

folders <- commandArgs(trailingOnly = TRUE)
read <- function(name) read.csv(file.path(folders[1], name), colClasses = c(case = "character"))
write <- function(table, name) {
  numbers <- sapply(table, is.numeric)
  table[numbers] <- lapply(table[numbers], sprintf, fmt = "%.15g")
  write.csv(table, file.path(folders[2], name), row.names = FALSE, quote = FALSE)
}

measurements <- read("measurements.csv")
measurements$y <- log(measurements$value)
measurements$solution <- factor(measurements$solution)
measurements$round <- factor(measurements$round)

blocks_f <- function(y, solution, round) anova(lm(y ~ round + solution))["solution", "F value"]
ranks_chi <- function(y, solution, round) {
  k <- nlevels(solution)
  b <- nlevels(round)
  sums <- tapply(ave(y, round, FUN = rank), solution, sum)
  12 / (b * k * (k + 1)) * sum((sums - b * (k + 1) / 2)^2)
}

# All arrangements of the labels within every round, the first one's included; for small cases.
permutations <- function(v) {
  if (length(v) < 2) return(matrix(v, 1))
  do.call(rbind, lapply(seq_along(v), function(i) cbind(v[i], permutations(v[-i]))))
}
enumerated <- function(y, solution, round, statistic) {
  k <- nlevels(solution)
  orders <- permutations(seq_len(k))
  rounds <- split(seq_along(y), round)
  choices <- expand.grid(rep(list(seq_len(nrow(orders))), length(rounds)))
  observed <- statistic(y, solution, round)
  found <- apply(choices, 1, function(choice) {
    shuffled <- y
    for (g in seq_along(rounds)) shuffled[rounds[[g]]] <- y[rounds[[g]]][orders[choice[g], ]]
    statistic(shuffled, solution, round)
  })
  mean(found >= observed * (1 - 1e-9))
}

# The F of blocks by its formula: anova() a thousand times over would take minutes.
fast_f <- function(y, solution, round) {
  k <- nlevels(solution)
  b <- nlevels(round)
  effect <- tapply(y, solution, mean) - mean(y)
  residual <- y - ave(y, solution) - ave(y, round) + mean(y)
  b * sum(effect^2) / (k - 1) / (sum(residual^2) / ((k - 1) * (b - 1)))
}

of_cases <- lapply(split(measurements, measurements$case), function(data) {
  data <- droplevels(data)
  means <- tapply(data$value, data$solution, mean)
  welch <- oneway.test(y ~ solution, data, var.equal = FALSE)
  complete <- names(which(table(data$round) == nlevels(data$solution)))
  within <- droplevels(data[data$round %in% complete, ])
  tested <- anova(lm(y ~ round + solution, within))["solution", ]
  stopifnot(abs(fast_f(within$y, within$solution, within$round) / tested[["F value"]] - 1) < 1e-6)
  few <- factorial(nlevels(data$solution))^length(complete) <= 10000
  centre <- tapply(data$y, data$solution, mean)
  data.frame(
    case = data$case[1], rsd = sd(means) / mean(means),
    f = welch$statistic, df1 = welch$parameter[1], df2 = welch$parameter[2], p = welch$p.value,
    rounds = length(complete), p_blocks = tested[["Pr(>F)"]],
    p_permutation = if (few) enumerated(within$y, within$solution, within$round, fast_f) else NA,
    p_friedman = if (few) enumerated(within$y, within$solution, within$round, ranks_chi) else NA,
    slowest_fastest = exp(max(centre) - min(centre))
  )
})
cases <- do.call(rbind, of_cases)
cases$q <- p.adjust(cases$p, "BH")
write(cases, "cases.csv")

of_pairs <- lapply(split(measurements, measurements$case), function(data) {
  data <- droplevels(data)
  k <- nlevels(data$solution)
  rows <- lapply(combn(levels(data$solution), 2, simplify = FALSE), function(pair) {
    x <- data[data$solution == pair[1], ]
    z <- data[data$solution == pair[2], ]
    welch <- t.test(x$y, z$y, var.equal = FALSE)
    t <- welch$statistic[[1]]
    df <- welch$parameter[[1]]
    difference <- mean(x$y) - mean(z$y)
    half <- qtukey(0.95, k, df) * abs(difference / t) / sqrt(2)
    both <- merge(x, z, by = "round")
    data.frame(
      case = data$case[1], solution_i = pair[1], solution_j = pair[2], ratio = exp(difference),
      low = exp(difference - half), high = exp(difference + half), t = t, df = df,
      p = ptukey(abs(t) * sqrt(2), k, df, lower.tail = FALSE),
      p_blocks = t.test(both$y.x, both$y.y, paired = TRUE)$p.value
    )
  })
  table <- do.call(rbind, rows)
  table$p_blocks <- p.adjust(table$p_blocks, "holm")
  table
})
write(do.call(rbind, of_pairs), "contrasts.csv")

ratios <- read("ratios.csv")
of_ratios <- lapply(split(ratios, ratios$case), function(data) {
  test <- wilcox.test(log(data$ratio), exact = TRUE)
  data.frame(case = data$case[1], geometric_mean = exp(mean(log(data$ratio))), p = test$p.value)
})
ratios <- do.call(rbind, of_ratios)
ratios$p_holm <- p.adjust(ratios$p, "holm")
write(ratios, "speedups.csv")
