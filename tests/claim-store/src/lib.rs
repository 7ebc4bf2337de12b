//! What every claim store does, whatever it is made of: one suite, asked of the simulation's table
//! and of DynamoDB alike.
//!
//! A case gets a store that nobody has written to.

pub mod cases;
pub mod records;

use cases::Outcome;
use controllers::ports::ClaimStore;

/// Runs every case, each on a store of its own.
pub async fn hold_all<S: ClaimStore>(mut empty: impl FnMut() -> S) -> Outcome {
    cases::a_claim_is_written_once(&empty()).await?;
    cases::a_write_needs_the_version_that_was_read(&empty()).await?;
    cases::what_is_gone_is_deleted_again_without_complaint(&empty()).await?;
    cases::claims_are_listed_by_name(&empty()).await?;
    cases::an_instance_leads_to_its_claim(&empty()).await?;
    cases::a_writer_whose_lease_was_taken_over_is_fenced_off(&empty()).await?;
    cases::commands_are_written_as_claims_are(&empty()).await?;
    cases::a_lease_is_held_by_one_until_its_term_is_over(&empty()).await?;
    cases::a_released_lease_is_free_and_a_stale_release_takes_nothing(&empty()).await?;
    cases::leases_of_functions_are_apart(&empty()).await?;
    cases::the_latest_success_of_each_function_is_kept(&empty()).await?;
    cases::marking_again_moves_an_end_to_the_later(&empty()).await?;
    cases::a_nomination_replaces_that_of_its_node(&empty()).await?;
    cases::a_pool_is_written_at_the_version_expected(&empty()).await?;
    cases::what_is_remembered_of_spot_is_written_at_the_version_expected(&empty()).await?;
    Ok(())
}
