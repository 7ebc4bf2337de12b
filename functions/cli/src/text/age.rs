//! Ages as kubectl shows them.

use domain::SignedDuration;

/// The two largest units: `45s`, `3m20s`, `5h12m`, `9d`.
pub(crate) fn age(age: SignedDuration) -> String {
    let seconds = age.as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let with_rest = |whole: i64, unit: char, rest: i64, rest_unit: char| {
        if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}{unit}{rest}{rest_unit}") }
    };
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => with_rest(minutes, 'm', seconds % 60, 's'),
        3600..86_400 => with_rest(hours, 'h', minutes % 60, 'm'),
        _ if days < 8 => with_rest(days, 'd', hours % 24, 'h'),
        _ => format!("{days}d"),
    }
}

/// To the second, with every unit that is not zero: `45s`, `4m`, `1h2m3s`, `6d12h5s`.
pub(crate) fn exact(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let units = [
        (seconds / 86_400, 'd'),
        (seconds / 3600 % 24, 'h'),
        (seconds / 60 % 60, 'm'),
        (seconds % 60, 's'),
    ];
    let shown: Vec<String> = units
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if shown.is_empty() { "0s".to_owned() } else { shown.concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_duration_loses_nothing_after_an_hour_or_a_day() {
        let shown = |seconds| exact(SignedDuration::from_secs(seconds));
        assert_eq!((shown(0), shown(45), shown(240)), ("0s".into(), "45s".into(), "4m".into()));
        assert_eq!((shown(3600), shown(3603)), ("1h".into(), "1h3s".into()));
        assert_eq!((shown(3723), shown(561_605)), ("1h2m3s".into(), "6d12h5s".into()));
    }

    #[test]
    fn an_age_shows_its_two_largest_units() {
        let shown = |seconds| age(SignedDuration::from_secs(seconds));
        assert_eq!(shown(45), "45s");
        assert_eq!(shown(200), "3m20s");
        assert_eq!(shown(7200), "2h");
        assert_eq!(shown(18_720), "5h12m");
        assert_eq!(shown(90_000), "1d1h");
        assert_eq!(shown(864_000), "10d");
        assert_eq!(shown(-5), "0s");
    }
}
