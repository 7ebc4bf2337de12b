//! Commands that give suggestions once more, and that replay them: all that they depend on is given
//! again, quoted for a shell.

use crate::args::suggest::SuggestArgs;

/// Where the commands leave the manifests.
const SUGGESTED: &str = "suggested.yaml";
/// What stands for a file in place of standard input.
const STANDARD_INPUT: &str = "< FILE";

/// The command that prints the manifests of all suggestions, and the one that replays them.
pub(crate) fn commands(args: &SuggestArgs) -> [String; 2] {
    let files: Vec<String> = args.files.iter().map(|own| own.display().to_string()).collect();
    let reads_input = [&args.recording].into_iter().chain(&files).any(|own| own == "-");
    let input = if reads_input { format!(" {STANDARD_INPUT}") } else { String::new() };
    let suggest = quoted(&suggest(args, &files));
    let simulate = quoted(&simulate(args, &files));
    [format!("{suggest}{input} > {SUGGESTED}"), format!("{simulate}{input}")]
}

fn suggest(args: &SuggestArgs, files: &[String]) -> Vec<String> {
    let mut words = vec!["outrigger".to_owned(), "suggest".to_owned(), args.recording.clone()];
    words.extend(list("-f", files));
    words.extend(option("--under", args.under.clone()));
    words.extend(catalog(args));
    let is_default = (args.seeds, args.seed) == (SuggestArgs::SEEDS, 0);
    words.extend((!is_default).then(|| seeds(args)).into_iter().flatten());
    words.extend(option("--timezone", Some(args.timezone.clone()).filter(|own| own != "UTC")));
    let periods = (args.periods != SuggestArgs::PERIODS).then(|| args.periods.to_string());
    words.extend(option("--periods", periods));
    words.extend(list("--only", &args.only));
    words.extend(args.settings.words());
    words.extend(option("-o", Some("yaml".to_owned())));
    words
}

fn simulate(args: &SuggestArgs, files: &[String]) -> Vec<String> {
    let mut words = vec!["outrigger".to_owned(), "simulate".to_owned()];
    words.extend(args.under.clone());
    words.extend(option("--from", Some(args.recording.clone())));
    let files: Vec<String> = files.iter().cloned().chain([SUGGESTED.to_owned()]).collect();
    words.extend(list("-f", &files));
    words.extend(catalog(args));
    words.extend(seeds(args));
    words.extend(args.settings.words());
    words
}

fn catalog(args: &SuggestArgs) -> impl Iterator<Item = String> + use<> {
    option("--catalog", args.catalog.as_ref().map(|own| own.display().to_string()))
}

fn seeds(args: &SuggestArgs) -> impl Iterator<Item = String> + use<> {
    let count = option("--seeds", Some(args.seeds.to_string()));
    count.chain(option("--seed", Some(args.seed.to_string())))
}

fn option(flag: &str, value: Option<String>) -> impl Iterator<Item = String> + use<> {
    value.map(|value| [flag.to_owned(), value]).into_iter().flatten()
}

/// One flag with several values; none without any.
fn list(flag: &str, values: &[String]) -> Vec<String> {
    if values.is_empty() {
        return Vec::new();
    }
    std::iter::once(flag.to_owned()).chain(values.iter().cloned()).collect()
}

/// A line that a POSIX shell takes for the words; no argument of a process has a NUL byte.
fn quoted(words: &[String]) -> String {
    let quoter = shlex::Quoter::new().allow_nul(true);
    quoter.join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    fn args(words: &[&str]) -> SuggestArgs {
        let words = ["outrigger", "suggest"].iter().chain(words);
        match Arguments::try_parse_from(words).unwrap().command {
            Some(Command::Suggest(args)) => args,
            other => panic!("{other:?} is no suggest"),
        }
    }

    #[test]
    fn all_that_suggestions_depend_on_is_given_again() {
        let args = args(&[
            "days.jsonl",
            "-f",
            "my pools.yaml",
            "it's.yaml",
            "--under",
            "spot-notice",
            "--seeds",
            "5",
            "--timezone",
            "Asia/Seoul",
            "--periods",
            "2",
            "--only",
            "a",
            "--feature-gates",
            "NodeRepair=true",
            "--search-effort",
            "quick",
            "--region",
            "eu-west-1",
        ]);
        assert_eq!(
            commands(&args),
            [
                "outrigger suggest days.jsonl -f 'my pools.yaml' \"it's.yaml\" \
                 --under spot-notice --seeds 5 --seed 0 --timezone Asia/Seoul --periods 2 --only a \
                 --feature-gates 'NodeRepair=true' --search-effort quick --region eu-west-1 -o yaml \
                 > suggested.yaml",
                "outrigger simulate spot-notice --from days.jsonl \
                 -f 'my pools.yaml' \"it's.yaml\" suggested.yaml --seeds 5 --seed 0 \
                 --feature-gates 'NodeRepair=true' --search-effort quick --region eu-west-1",
            ]
        );
    }

    #[test]
    fn standard_input_is_given_again_from_a_file() {
        assert_eq!(
            commands(&args(&["-"])),
            [
                "outrigger suggest - -o yaml < FILE > suggested.yaml",
                "outrigger simulate --from - -f suggested.yaml --seeds 3 --seed 0 < FILE",
            ]
        );
    }
}
