//! DynamoDB Local: Amazon's own, in memory.

use std::process::Command;

use anyhow::Result;

use crate::cache::Cache;
use crate::http;
use crate::process::{Server, Workplace, free_port};

/// The running database.
#[derive(Debug)]
pub struct DynamoDb {
    /// Where its API is.
    pub endpoint: String,
    _server: Server,
}

impl DynamoDb {
    /// Starts it.
    pub async fn start(cache: &Cache, workplace: &Workplace) -> Result<Self> {
        let port = free_port()?;
        let jars = cache.dynamodb();
        let mut command = Command::new("java");
        command
            .args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .arg(format!("-Dsqlite4java.library.path={}", jars.display()))
            .arg("-cp")
            .arg(jars.join("*"))
            .arg("com.amazonaws.services.dynamodbv2.local.main.ServerRunner")
            // One database for every access key, as tables belong to an account and not to a user.
            .args(["-inMemory", "-sharedDb", "-disableTelemetry", "-port", &port.to_string()]);
        let endpoint = format!("http://127.0.0.1:{port}");
        let server = Server::start(workplace, "dynamodb", &mut command)?
            .ready(async || http::answers(&endpoint).await)
            .await?;
        Ok(Self { endpoint, _server: server })
    }
}
