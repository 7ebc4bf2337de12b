use super::*;
use std::sync::atomic::{AtomicI64, Ordering};

/// A budget whose table nobody serves: the address refuses connections.
fn budget_without_table() -> (SharedBudget, Arc<AtomicI64>) {
    let seconds = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&seconds);
    let now: Now = Arc::new(move || Timestamp::from_second(clock.load(Ordering::SeqCst)).unwrap());
    (
        SharedBudget::with_clock(Table::local("http://127.0.0.1:1", "none"), "eu-west-1", now),
        seconds,
    )
}

#[tokio::test]
async fn a_call_goes_out_where_the_table_cannot_be_reached() {
    let (budget, _) = budget_without_table();
    let started = std::time::Instant::now();
    budget.acquire(Bucket::Launch, 1).await;
    assert!(started.elapsed() < ANSWER_MAX * 3, "it waits no longer than for one answer");
    let started = std::time::Instant::now();
    budget.acquire(Bucket::Launch, 50).await;
    assert!(started.elapsed() < Duration::from_millis(100), "and the next call not even for that");
}

#[tokio::test]
async fn tokens_of_a_batch_are_spent_before_the_table_is_asked_again() {
    let (budget, clock) = budget_without_table();
    budget.keep(Bucket::Describe, 3);
    assert_eq!(budget.spend(Bucket::Describe, 2), 0);
    assert_eq!(budget.spend(Bucket::Describe, 2), 1, "one was left");
    budget.keep(Bucket::Describe, 3);
    clock.fetch_add(3, Ordering::SeqCst);
    assert_eq!(budget.spend(Bucket::Describe, 1), 1, "old tokens are not good any more");
    assert_eq!(budget.spend(Bucket::Mutate, 1), 1, "another bucket's are not either");
}
