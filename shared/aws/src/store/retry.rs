//! Retries that the client of DynamoDB does not do by itself: writes that conflict with a
//! transaction in progress.

use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::CancellationReason;
use aws_smithy_runtime_api::client::interceptors::context::{Error, InterceptorContext};
use aws_smithy_runtime_api::client::retries::classifiers::{ClassifyRetry, RetryAction};
use aws_smithy_types::retry::ErrorKind;

/// Retries writes that conflict with a transaction in progress, within the retry configuration of
/// the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contention;

impl ClassifyRetry for Contention {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        let error = context
            .output_or_error()
            .and_then(Result::err)
            .and_then(|error| error.as_operation_error());
        match error {
            Some(error) if is_passing(error) => {
                RetryAction::retryable_error(ErrorKind::ThrottlingError)
            }
            _ => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "dynamodb-contention"
    }
}

fn is_passing(error: &Error) -> bool {
    if let Some(error) = error.downcast_ref::<TransactWriteItemsError>() {
        return match error {
            TransactWriteItemsError::TransactionCanceledException(canceled) => {
                passes(canceled.cancellation_reasons())
            }
            TransactWriteItemsError::TransactionInProgressException(_) => true,
            _ => false,
        };
    }
    error
        .downcast_ref::<PutItemError>()
        .is_some_and(PutItemError::is_transaction_conflict_exception)
        || error
            .downcast_ref::<UpdateItemError>()
            .is_some_and(UpdateItemError::is_transaction_conflict_exception)
        || error
            .downcast_ref::<DeleteItemError>()
            .is_some_and(DeleteItemError::is_transaction_conflict_exception)
}

/// Whether contention alone cancelled a transaction.
fn passes(reasons: &[CancellationReason]) -> bool {
    let mut is_contended = false;
    for reason in reasons {
        match reason.code() {
            None | Some("None") => {}
            Some("TransactionConflict" | "ThrottlingError" | "ProvisionedThroughputExceeded") => {
                is_contended = true;
            }
            Some(_) => return false,
        }
    }
    is_contended
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(codes: &[&str]) -> Vec<CancellationReason> {
        codes.iter().map(|code| CancellationReason::builder().code(*code).build()).collect()
    }

    #[test]
    fn a_transaction_that_met_another_is_tried_again() {
        assert!(passes(&reasons(&["None", "TransactionConflict"])));
        assert!(passes(&reasons(&["ThrottlingError", "None"])));
    }

    #[test]
    fn a_transaction_whose_condition_does_not_hold_is_not() {
        assert!(!passes(&reasons(&["ConditionalCheckFailed", "TransactionConflict"])));
        assert!(!passes(&reasons(&["None", "None"])));
        assert!(!passes(&reasons(&["ItemCollectionSizeLimitExceeded"])));
    }
}
