//! Figures over time with fewer points than there were changes.

/// Points of a curve, at most; a screen has fewer columns.
pub(super) const POINTS_MAX: usize = 2_000;

/// Steps of a curve as `[moment, value, moment, value, …]`, in order of time.
///
/// Of a curve with more points than [`POINTS_MAX`], each stretch of time keeps its highest point
/// and its last one: peaks show, and the curve goes on from where it was.
pub(super) fn thinned(points: &[(i64, i64)]) -> Vec<i64> {
    let mut kept: Vec<(i64, i64)> = Vec::with_capacity(points.len().min(POINTS_MAX));
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    if points.len() <= POINTS_MAX {
        kept.extend_from_slice(points);
    } else {
        let stretches = i64::try_from(POINTS_MAX / 2).unwrap_or(1);
        let width = ((last.0 - first.0) / stretches + 1).max(1);
        for stretch in points.chunk_by(|a, b| (a.0 - first.0) / width == (b.0 - first.0) / width) {
            let highest = stretch.iter().rev().max_by_key(|point| point.1);
            kept.extend(highest.into_iter().chain(stretch.last()));
        }
        kept.dedup();
    }
    kept.into_iter().flat_map(|(at, value)| [at, value]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_stay_and_of_many_the_peaks() {
        assert_eq!(thinned(&[(0, 1), (5, 3)]), [0, 1, 5, 3]);
        assert_eq!(thinned(&[]), Vec::<i64>::new());
        let many: Vec<(i64, i64)> =
            (0..50_000).map(|at| (at, if at == 31_234 { 999 } else { at % 7 })).collect();
        let own = thinned(&many);
        assert!(own.len() <= 2 * POINTS_MAX + 4, "{}", own.len());
        let points: Vec<(i64, i64)> = own.chunks(2).map(|own| (own[0], own[1])).collect();
        assert!(points.contains(&(31_234, 999)), "the peak is kept");
        assert_eq!(points.last(), Some(&(49_999, 49_999 % 7)));
        assert!(points.is_sorted_by_key(|point| point.0), "in order of time");
    }
}
