//! The cases.

use std::error::Error;

use controllers::ports::{
    ClaimStore, ErrorKind, FunctionName, Lease, LeaseAnswer, PortError, Version, Versioned,
};
use controllers::record::nomination::Nomination;
use controllers::record::pool::PoolRecord;
use controllers::record::spot::{Sighting, SpotRecord};
use domain::SignedDuration;
use domain::pod::PodKey;
use domain::spot::{SpotEvent, SpotEventKind};

use crate::records::{at, claim, command, launched, unavailable};

const TERM: SignedDuration = SignedDuration::from_secs(60);

/// What a case comes to; an error is a call that failed, or an answer without which it makes no
/// sense.
pub type Outcome = Result<(), Box<dyn Error>>;

fn acquired(answer: LeaseAnswer) -> Result<Lease, String> {
    match answer {
        LeaseAnswer::Acquired(lease) => Ok(lease),
        LeaseAnswer::Held(lease) => Err(format!("the lease is held by {}", lease.holder)),
    }
}

fn holder(answer: LeaseAnswer) -> Result<String, String> {
    match answer {
        LeaseAnswer::Held(lease) => Ok(lease.holder.to_string()),
        LeaseAnswer::Acquired(lease) => Err(format!("{} got the lease", lease.holder)),
    }
}

async fn lease_of<S: ClaimStore>(
    store: &S,
    function: FunctionName,
    who: &str,
) -> Result<Lease, Box<dyn Error>> {
    Ok(acquired(store.acquire_lease(function, who, at(0), TERM).await?)?)
}

async fn provisioning<S: ClaimStore>(store: &S) -> Result<Lease, Box<dyn Error>> {
    lease_of(store, FunctionName::Provisioning, "run-1").await
}

#[track_caller]
fn is_conflict<T>(result: Result<T, PortError>) {
    assert_eq!(result.map_err(|error| error.kind).err(), Some(ErrorKind::Conflict));
}

/// A claim is there after it was written, and not written over by another of its name.
pub async fn a_claim_is_written_once<S: ClaimStore>(store: &S) -> Outcome {
    let lease = provisioning(store).await?;
    assert_eq!(store.claim("a").await?, None);
    let version = store.create_claim(&claim("a"), &lease).await?;
    assert_eq!(version, Version(1));
    let written = Versioned { record: claim("a"), version };
    assert_eq!(store.claim("a").await?, Some(written.clone()));
    is_conflict(store.create_claim(&claim("a"), &lease).await);
    assert_eq!(store.claims().await?, [written]);
    Ok(())
}

/// Who read an older version is refused, and the record stays as it is.
pub async fn a_write_needs_the_version_that_was_read<S: ClaimStore>(store: &S) -> Outcome {
    let lease = provisioning(store).await?;
    let first = store.create_claim(&claim("a"), &lease).await?;
    let tried = controllers::record::claim::ClaimRecord { launch_failures: 1, ..claim("a") };
    let second = store.update_claim(&tried, first).await?;
    assert!(second > first);
    is_conflict(store.update_claim(&tried, first).await);
    is_conflict(store.update_claim(&claim("a"), first).await);
    is_conflict(store.delete_claim("a", first).await);
    assert_eq!(store.claim("a").await?.ok_or("it is there")?.record, tried);
    is_conflict(store.update_claim(&claim("nobody"), Version(1)).await);
    Ok(())
}

/// Deleting is done once, and asked again without harm.
pub async fn what_is_gone_is_deleted_again_without_complaint<S: ClaimStore>(store: &S) -> Outcome {
    let lease = provisioning(store).await?;
    let version = store.create_claim(&claim("a"), &lease).await?;
    store.delete_claim("a", version).await?;
    store.delete_claim("a", version).await?;
    store.delete_command("none", Version(1)).await?;
    store.delete_pool("none", Version(1)).await?;
    assert_eq!(store.claim("a").await?, None);
    is_conflict(store.update_claim(&claim("a"), version).await);
    Ok(())
}

/// Two processes that list the claims of one cluster, again and again: each sees what the other has
/// written, whatever it has kept of its lists.
pub async fn each_of_two_sees_what_the_other_writes<S: ClaimStore>(
    ours: &S,
    theirs: &S,
) -> Outcome {
    let lease = provisioning(ours).await?;
    for (count, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        // Both keep what they list now.
        for store in [ours, theirs, ours, theirs] {
            assert_eq!(store.claims().await?.len(), count);
        }
        let writer = if count % 2 == 0 { ours } else { theirs };
        writer.create_claim(&claim(name), &lease).await?;
    }
    for own in ours.claims().await? {
        theirs.update_claim(&own.record, own.version).await?;
        is_conflict(ours.update_claim(&own.record, own.version).await);
        assert_eq!(ours.claims().await?, theirs.claims().await?);
    }
    let all = ours.claims().await?;
    assert!(all.iter().all(|own| own.version == Version(2)));
    for (count, own) in all.iter().enumerate() {
        theirs.delete_claim(own.record.name(), own.version).await?;
        assert_eq!(ours.claims().await?.len(), all.len() - count - 1);
    }
    Ok(())
}

/// Lists are in order, whatever was written first.
pub async fn claims_are_listed_by_name<S: ClaimStore>(store: &S) -> Outcome {
    let lease = provisioning(store).await?;
    for name in ["default-b", "default-a", "arm-z", "default-a1"] {
        store.create_claim(&claim(name), &lease).await?;
    }
    let claims = store.claims().await?;
    let names: Vec<&str> = claims.iter().map(|own| &**own.record.name()).collect();
    assert_eq!(names, ["arm-z", "default-a", "default-a1", "default-b"]);
    Ok(())
}

/// The index knows instances of claims, and forgets those whose claims are gone.
pub async fn an_instance_leads_to_its_claim<S: ClaimStore>(store: &S) -> Outcome {
    let lease = provisioning(store).await?;
    let first = store.create_claim(&claim("a"), &lease).await?;
    assert_eq!(store.claim_of_instance("i-1").await?, None);
    let second = store.update_claim(&launched(claim("a"), "i-1"), first).await?;
    let found = store.claim_of_instance("i-1").await?.ok_or("it is there")?;
    assert_eq!((&**found.record.name(), found.version), ("a", second));
    assert_eq!(store.claim_of_instance("i-2").await?, None);
    store.delete_claim("a", second).await?;
    assert_eq!(store.claim_of_instance("i-1").await?, None);
    Ok(())
}

/// Claims are written under the lease that was taken, not under one that was lost since.
pub async fn a_writer_whose_lease_was_taken_over_is_fenced_off<S: ClaimStore>(
    store: &S,
) -> Outcome {
    let old = provisioning(store).await?;
    let later = at(0) + TERM;
    let answer = store.acquire_lease(FunctionName::Provisioning, "run-2", later, TERM).await;
    let new = acquired(answer?)?;
    assert!(new.token > old.token);
    is_conflict(store.create_claim(&claim("a"), &old).await);
    assert_eq!(store.claims().await?, []);
    store.create_claim(&claim("a"), &new).await?;
    is_conflict(store.create_command(&command("c"), &old).await);
    let never = Lease { function: FunctionName::Lifecycle, ..new };
    is_conflict(store.create_claim(&claim("b"), &never).await);
    Ok(())
}

/// Commands have the same life as claims.
pub async fn commands_are_written_as_claims_are<S: ClaimStore>(store: &S) -> Outcome {
    let lease = lease_of(store, FunctionName::Disruption, "run-1").await?;
    let first = store.create_command(&command("c"), &lease).await?;
    is_conflict(store.create_command(&command("c"), &lease).await);
    let phase = controllers::record::command::CommandPhase::Starting { since: at(15) };
    let started = controllers::record::command::CommandRecord { phase, ..command("c") };
    let second = store.update_command(&started, first).await?;
    is_conflict(store.update_command(&started, first).await);
    let written = Versioned { record: started, version: second };
    assert_eq!(store.commands().await?, [written]);
    is_conflict(store.delete_command("c", first).await);
    store.delete_command("c", second).await?;
    assert_eq!(store.commands().await?, []);
    Ok(())
}

/// One holder at a time; asking again keeps the token, taking over grows it.
pub async fn a_lease_is_held_by_one_until_its_term_is_over<S: ClaimStore>(store: &S) -> Outcome {
    let ask = async |who: &str, seconds: i64| {
        store.acquire_lease(FunctionName::Provisioning, who, at(seconds), TERM).await
    };
    let first = acquired(ask("run-1", 0).await?)?;
    assert_eq!((first.token, first.until), (1, at(60)));
    assert_eq!(holder(ask("run-2", 0).await?)?, "run-1");
    let again = acquired(ask("run-1", 30).await?)?;
    assert_eq!((again.token, again.until), (first.token, at(90)));
    assert_eq!(holder(ask("run-2", 89).await?)?, "run-1");
    let second = acquired(ask("run-2", 90).await?)?;
    assert!(second.token > first.token);
    assert_eq!(holder(ask("run-1", 91).await?)?, "run-2");
    Ok(())
}

/// Giving back frees the lease; giving back what another has by now does nothing.
pub async fn a_released_lease_is_free_and_a_stale_release_takes_nothing<S: ClaimStore>(
    store: &S,
) -> Outcome {
    assert_eq!(store.last_token(FunctionName::Provisioning).await?, None);
    let first = provisioning(store).await?;
    store.release_lease(&first).await?;
    assert_eq!(store.last_token(FunctionName::Provisioning).await?, Some(first.token));
    let second = lease_of(store, FunctionName::Provisioning, "run-2").await?;
    assert!(second.token > first.token, "a token is never given twice");
    assert_eq!(store.last_token(FunctionName::Provisioning).await?, Some(second.token));
    store.release_lease(&first).await?;
    let third = store.acquire_lease(FunctionName::Provisioning, "run-3", at(1), TERM).await;
    assert_eq!(holder(third?)?, "run-2");
    Ok(())
}

/// Functions do not keep each other out.
pub async fn leases_of_functions_are_apart<S: ClaimStore>(store: &S) -> Outcome {
    for function in [FunctionName::Provisioning, FunctionName::Lifecycle, FunctionName::Disruption]
    {
        assert_eq!(lease_of(store, function, "run-1").await?.function, function);
    }
    Ok(())
}

/// What functions note of themselves stands side by side, and a late call sets nothing back.
pub async fn the_latest_success_of_each_function_is_kept<S: ClaimStore>(store: &S) -> Outcome {
    let note = async |function, second| store.note_success(function, at(second)).await;
    assert!(store.last_successes().await?.is_empty());
    note(FunctionName::Provisioning, 60).await?;
    note(FunctionName::Disruption, 30).await?;
    note(FunctionName::Provisioning, 50).await?;
    let expected =
        [(FunctionName::Provisioning, at(60)), (FunctionName::Disruption, at(30))].into();
    assert_eq!(store.last_successes().await?, expected);
    Ok(())
}

/// An offering stays unavailable as long as anybody said.
pub async fn marking_again_moves_an_end_to_the_later<S: ClaimStore>(store: &S) -> Outcome {
    let mark = async |offerings: &[_]| store.mark_unavailable(offerings).await;
    mark(&[unavailable("m5.large", at(60)), unavailable("c5.large", at(60))]).await?;
    mark(&[unavailable("m5.large", at(30))]).await?;
    mark(&[unavailable("c5.large", at(90))]).await?;
    mark(&[]).await?;
    let marked = store.unavailable_offerings().await?;
    let ends: Vec<_> = marked.iter().map(|own| (&*own.instance_type, own.until)).collect();
    assert_eq!(ends, [("c5.large", at(90)), ("m5.large", at(60))]);
    Ok(())
}

/// A node is nominated for the pods of the last plan; more nodes than fit into one request are as
/// well.
pub async fn a_nomination_replaces_that_of_its_node<S: ClaimStore>(store: &S) -> Outcome {
    let nomination = |node: usize, pod: &str| Nomination {
        node: format!("node-{node:03}").into(),
        pods: vec![PodKey::new("default", pod)],
        until: at(20),
    };
    let many: Vec<Nomination> = (0..60).map(|node| nomination(node, "first")).collect();
    store.nominate(&many).await?;
    store.nominate(&[nomination(7, "second")]).await?;
    let nominations = store.nominations().await?;
    assert_eq!(nominations.len(), 60);
    assert_eq!(nominations[7], nomination(7, "second"));
    assert_eq!(nominations[8], nomination(8, "first"));
    Ok(())
}

/// What is remembered of a NodePool has versions too.
pub async fn a_pool_is_written_at_the_version_expected<S: ClaimStore>(store: &S) -> Outcome {
    let pool = |registrations: &[bool]| PoolRecord {
        node_pool: "default".into(),
        uid: "u".into(),
        registrations: registrations.to_vec(),
        ..PoolRecord::default()
    };
    is_conflict(store.put_pool(&pool(&[]), Some(Version(1))).await);
    let first = store.put_pool(&pool(&[true]), None).await?;
    is_conflict(store.put_pool(&pool(&[true]), None).await);
    let second = store.put_pool(&pool(&[true, false]), Some(first)).await?;
    is_conflict(store.put_pool(&pool(&[]), Some(first)).await);
    let written = Versioned { record: pool(&[true, false]), version: second };
    assert_eq!(store.pools().await?, [written]);
    is_conflict(store.delete_pool("default", first).await);
    store.delete_pool("default", second).await?;
    assert_eq!(store.pools().await?, []);
    Ok(())
}

/// What is remembered of spot offerings is one record a cluster, and has versions: of two who
/// change it at once, one is refused.
pub async fn what_is_remembered_of_spot_is_written_at_the_version_expected<S: ClaimStore>(
    store: &S,
) -> Outcome {
    assert_eq!(store.spot_record().await?, None);
    assert_eq!(store.spot_records().await?.own, None);
    let event = |second: i64, kind| SpotEvent {
        instance_type: "m5.large".into(),
        zone: "a".into(),
        at: at(second),
        kind,
    };
    let sighting =
        |id: &str| Sighting { id: id.into(), event: event(0, SpotEventKind::Interruption) };
    let (one, _) = SpotRecord::default().with_sightings(&[sighting("i-1")], at(0));
    is_conflict(store.put_spot_record(&one, Some(Version(1))).await);
    let first = store.put_spot_record(&one, None).await?;
    is_conflict(store.put_spot_record(&one, None).await);
    assert_eq!(store.spot_record().await?, Some(Versioned { record: one.clone(), version: first }));
    let (two, news) = one.with_sightings(&[sighting("i-1"), sighting("i-2")], at(0));
    assert_eq!(news.len(), 1);
    let second = store.put_spot_record(&two, Some(first)).await?;
    is_conflict(store.put_spot_record(&two, Some(first)).await);
    let written = Versioned { record: two, version: second };
    assert_eq!(store.spot_records().await?.own, Some(written));
    Ok(())
}
