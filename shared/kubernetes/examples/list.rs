//! Lists the cluster of the current kubeconfig a few times, and prints how long that took.
//!
//! `list [poll|watch] [LISTINGS] [SECONDS BETWEEN] [CACHED FROM]`; with `KUBERNETES_URL` and
//! `KUBERNETES_TOKEN` set, at that API server instead.

use std::time::{Duration, Instant};

use controllers::ports::PortError;
use domain::{SignedDuration, Timestamp};
use kubernetes::{Connection, Endpoint, KubernetesCluster, ListMode, Token};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), PortError> {
    let mut arguments = std::env::args().skip(1);
    let watches = arguments.next().is_some_and(|it| it == "watch");
    let mut number = |default| arguments.next().and_then(|it| it.parse().ok()).unwrap_or(default);
    let (listings, pause) = (number(3), Duration::from_secs(number(1)));
    let cached_from = usize::try_from(number(500)).unwrap_or(usize::MAX);
    let reading = if watches { ListMode::Watch { cached_from } } else { ListMode::Poll };
    let connection = connect().await?;
    let start = Instant::now();
    connection.warm_up().await?;
    report(&format!("warm-up {:?}", start.elapsed()));
    let cluster = KubernetesCluster::new(connection, reading);
    for _ in 0..listings {
        let start = Instant::now();
        let listed = cluster.list().await?;
        report(&format!(
            "listing {:?}: {} nodes, {} pods, {} problems; peak memory {} MB",
            start.elapsed(),
            listed.listing.objects.nodes.len(),
            listed.listing.objects.pods.len(),
            listed.problems.len(),
            peak_memory_mb(),
        ));
        for problem in listed.problems.iter().take(5) {
            report(&problem.to_string());
        }
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

async fn connect() -> Result<Connection, PortError> {
    let Ok(url) = std::env::var("KUBERNETES_URL") else {
        return Connection::from_kubeconfig(None).await;
    };
    let endpoint = Endpoint { url: url.into(), certificate_authority: None };
    let secret = std::env::var("KUBERNETES_TOKEN").unwrap_or_default();
    let tokens = move || {
        let expires = Timestamp::now() + SignedDuration::from_mins(15);
        let token = Token { secret: secret.as_str().into(), expires };
        async move { Ok(token) }
    };
    Connection::with_tokens(&endpoint, tokens).await
}

#[expect(clippy::print_stdout, reason = "what the example is for")]
fn report(line: &str) {
    println!("{line}");
}

/// The peak memory of the process so far (`VmHWM`); 0 where the system does not report it.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes.and_then(|it| it.trim().parse::<u64>().ok()).unwrap_or_default() / 1024
}
