//! The catalogue of a region with the prices of today, fetched with the user's own credentials of
//! AWS.

use std::sync::Arc;

use aws::budget::Unmetered;
use aws::calls::NoRegion;
use catalog::CatalogError;
use controllers::ports::PortError;
use domain::{SignedDuration, Timestamp};
use ec2::Calls;
use ec2::catalogue::{Catalogue, Refreshed, refresh};

use super::catalog_cache::CatalogCache;
use crate::console::{self, Progress};

/// How old a cached catalogue may be: spot prices change within the hour.
pub(super) const MAX_AGE: SignedDuration = SignedDuration::from_hours(1);

/// A catalogue of AWS, and what of it could not be fetched.
#[derive(Debug)]
pub(super) struct Fetched {
    /// The catalogue.
    pub(super) catalogue: Catalogue,
    /// What stands in where something could not be fetched.
    pub(super) warnings: Vec<String>,
}

/// Why there is no fetched catalogue.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// The async runtime of the clients does not start.
    #[error("no connection can be made")]
    Runtime(#[from] std::io::Error),
    /// The clients cannot be made.
    #[error(transparent)]
    Region(#[from] NoRegion),
    /// AWS does not answer, or denies it.
    #[error(transparent)]
    Aws(#[from] PortError),
    /// The embedded catalogue, which knows what EC2 does not tell, is damaged.
    #[error("the embedded catalogue cannot be used")]
    Embedded(#[from] CatalogError),
}

/// The catalogue of a region: the cached one, if it is at most an hour old and `is_anew` does not
/// ask for another, or else what AWS says now.
pub(super) fn fetch(region: &str, is_anew: bool) -> Result<Fetched, FetchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let now = Timestamp::now();
    runtime.block_on(async {
        let cache = CatalogCache::of_user();
        let cached = cached(cache.as_ref(), region).await;
        match cached {
            Some(catalogue) if !is_anew && is_fresh(&catalogue, now) => {
                Ok(Fetched { catalogue, warnings: Vec::new() })
            }
            cached => {
                let before = match cached {
                    Some(cached) => cached,
                    None => Catalogue::embedded(region)?,
                };
                fetch_anew(&before, cache.as_ref(), now).await
            }
        }
    })
}

/// The cached catalogue; one that cannot be read is fetched anew like one that is not there.
async fn cached(cache: Option<&CatalogCache>, region: &str) -> Option<Catalogue> {
    let catalogue = Catalogue::load(cache?, region).await.ok()?;
    catalogue.made.is_some().then_some(catalogue)
}

fn is_fresh(catalogue: &Catalogue, now: Timestamp) -> bool {
    let age = catalogue.made.map(|made| now.duration_since(made));
    age.is_some_and(|age| !age.is_negative() && age <= MAX_AGE)
}

async fn fetch_anew(
    before: &Catalogue,
    cache: Option<&CatalogCache>,
    now: Timestamp,
) -> Result<Fetched, FetchError> {
    let _progress = Progress::start(&format!("fetching prices of {} from AWS", before.region));
    let config = aws::sdk::config_in(&before.region).await;
    let calls = Calls::new(&config, Arc::new(Unmetered))?;
    let Refreshed { catalogue, stale } = refresh(&calls, before, now).await?;
    let mut warnings: Vec<String> = stale
        .iter()
        .map(|error| {
            format!(
                "some prices of {} are not of today: {}",
                before.region,
                console::in_full(error)
            )
        })
        .collect();
    // What is not whole is asked for again next time.
    if let (Some(cache), true) = (cache, stale.is_empty())
        && let Err(error) = catalogue.save(cache).await
    {
        warnings.push(format!("the catalogue cannot be cached: {}", console::in_full(&error)));
    }
    Ok(Fetched { catalogue, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalogue_is_fresh_for_an_hour() {
        let now: Timestamp = "2026-11-24T17:00:00Z".parse().unwrap();
        let mut catalogue = Catalogue::embedded("eu-west-1").unwrap();
        assert!(!is_fresh(&catalogue, now), "what was never fetched is not fresh");
        for (made, expected) in [
            ("2026-11-24T16:00:00Z", true),
            ("2026-11-24T15:59:59Z", false),
            ("2026-11-24T17:00:01Z", false),
        ] {
            catalogue.made = Some(made.parse().unwrap());
            assert_eq!(is_fresh(&catalogue, now), expected, "{made}");
        }
    }
}
