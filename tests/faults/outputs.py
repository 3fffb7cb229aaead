"""What is promised of other files, and of standard output: they are the same whenever the same is asked."""


def files(bench, scenario, case):
    """A file that is visible is the old one or the new one, and exit code 0 says that all are the new ones."""
    wanted = bench.end(scenario).files
    wrong = [f"{path} is neither as it was nor as it will be" for path in case.now if case.now[path] not in (wanted.get(path), case.before.get(path))]
    wrong += [f"{path} is gone" for path in case.before if path not in case.now]
    if case.done and case.now != wanted:
        wrong.append("exit code 0, and not all files")
    return wrong


def printed(bench, scenario, case):
    """Exit code 0 says that all was written."""
    wanted = bench.end(scenario).files[scenario.into]
    wrong = ["exit code 0, and not all of it"] if case.done and case.now[scenario.into] != wanted else []
    return wrong + [f"{path} is not as it was" for path in case.before if case.now.get(path) != case.before[path]]


def kept(bench, scenario, case):
    """The answer is the same whether or not its sums could be kept; what is kept is whole."""
    wanted = bench.end(scenario).files
    wrong = [f"{path} is not whole" for path in case.now if path.startswith("kept/") and case.now[path] != wanted.get(path)]
    if case.code == 0 and not any(path.startswith("kept/") for path in case.now) and "nothing was kept" not in " ".join(case.said.split()):
        wrong.append("nothing was kept, which is not said")
    return wrong + printed(bench, scenario, case)
