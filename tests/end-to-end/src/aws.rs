//! EC2's API by hand, for cases that test the rig without a function, and SQS's, for what Lambda
//! does with queues: the query protocol, as any SDK speaks it.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;

use crate::cloud::NODE_ROLE;
use crate::http;

/// EC2 behind an endpoint.
#[derive(Debug)]
pub struct Aws {
    endpoint: String,
}

impl Aws {
    /// At an endpoint.
    pub fn at(endpoint: &str) -> Self {
        Self { endpoint: endpoint.to_owned() }
    }

    /// Launches an on-demand instance of AL2023 in the first subnet that has the type, with
    /// everything that a node needs. Returns its id.
    pub async fn launch(&self, instance_type: &str, user_data: &str) -> Result<String> {
        let subnets = self.ask("DescribeSubnets", &[]).await?;
        let groups = self.ask("DescribeSecurityGroups", &[("GroupName.1", "default")]).await?;
        let images = [
            ("Filter.1.Name", "name"),
            ("Filter.1.Value.1", "amazon-eks-node-al2023-x86_64-standard-*"),
        ];
        let images = self.ask("DescribeImages", &images).await?;
        self.make_profile().await?;
        // One template a launch: user data differ.
        let template = format!("rig-{}", LAUNCHES.fetch_add(1, Ordering::Relaxed));
        let data = [
            ("LaunchTemplateName", template.as_str()),
            ("LaunchTemplateData.UserData", &STANDARD.encode(user_data)),
            ("LaunchTemplateData.ImageId", element(&images, "imageId")?),
            ("LaunchTemplateData.SecurityGroupId.1", element(&groups, "groupId")?),
            ("LaunchTemplateData.IamInstanceProfile.Name", PROFILE),
            ("LaunchTemplateData.MetadataOptions.HttpTokens", "required"),
            ("LaunchTemplateData.BlockDeviceMapping.1.DeviceName", "/dev/xvda"),
            ("LaunchTemplateData.BlockDeviceMapping.1.Ebs.VolumeSize", "30"),
            ("LaunchTemplateData.BlockDeviceMapping.1.Ebs.VolumeType", "gp3"),
        ];
        let created = self.ask("CreateLaunchTemplate", &data).await?;
        let fleet = [
            ("Type", "instant"),
            ("TargetCapacitySpecification.TotalTargetCapacity", "1"),
            ("TargetCapacitySpecification.DefaultTargetCapacityType", "on-demand"),
            (
                "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateId",
                element(&created, "launchTemplateId")?,
            ),
            ("LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version", "$Latest"),
            ("LaunchTemplateConfigs.1.Overrides.1.InstanceType", instance_type),
            ("LaunchTemplateConfigs.1.Overrides.1.SubnetId", element(&subnets, "subnetId")?),
        ];
        let answer = self.ask("CreateFleet", &fleet).await?;
        let ids = element(&answer, "instanceIds").with_context(|| answer.clone())?;
        Ok(element(ids, "item")?.to_owned())
    }

    async fn make_profile(&self) -> Result<()> {
        let name = [("InstanceProfileName", PROFILE)];
        match self.call("iam", "2010-05-08", "CreateInstanceProfile", &name).await {
            Err(error) if error.to_string().contains("EntityAlreadyExists") => return Ok(()),
            other => other.map(drop)?,
        }
        let role = [name[0], ("RoleName", NODE_ROLE)];
        self.call("iam", "2010-05-08", "AddRoleToInstanceProfile", &role).await.map(drop)
    }

    /// Makes a queue. Returns its URL.
    pub async fn make_queue(&self, name: &str) -> Result<String> {
        // Anew, since another case may have left messages in it.
        let before = self.call("sqs", SQS, "CreateQueue", &[("QueueName", name)]).await?;
        let url = element(&before, "QueueUrl")?;
        self.call("sqs", SQS, "DeleteQueue", &[("QueueUrl", url)]).await?;
        let answer = self.call("sqs", SQS, "CreateQueue", &[("QueueName", name)]).await?;
        Ok(element(&answer, "QueueUrl")?.to_owned())
    }

    /// Takes the next message out of a queue. Returns its body; `None` where there is none.
    pub async fn take_message(&self, queue: &str) -> Result<Option<String>> {
        let queue = ("QueueUrl", queue);
        let answer = self.call("sqs", SQS, "ReceiveMessage", &[queue]).await?;
        let Ok(body) = element(&answer, "Body") else { return Ok(None) };
        let handle = element(&answer, "ReceiptHandle")?;
        self.call("sqs", SQS, "DeleteMessage", &[queue, ("ReceiptHandle", handle)]).await?;
        Ok(Some(body.replace("&quot;", "\"")))
    }

    /// How many messages are in a queue, those included that are not due yet.
    pub async fn count_messages(&self, queue: &str) -> Result<u32> {
        let parameters = [("QueueUrl", queue), ("AttributeName.1", "All")];
        let answer = self.call("sqs", SQS, "GetQueueAttributes", &parameters).await?;
        let count = |name: &str| -> Result<u32> {
            let after = answer.split_once(&format!("<Name>{name}</Name>")).context("a count")?.1;
            Ok(element(after, "Value")?.parse()?)
        };
        Ok(count("ApproximateNumberOfMessages")? + count("ApproximateNumberOfMessagesDelayed")?)
    }

    /// Calls EC2; an answer that is not good is an error that holds it.
    pub async fn ask(&self, action: &str, parameters: &[(&str, &str)]) -> Result<String> {
        self.call("ec2", "2016-11-15", action, parameters).await
    }

    async fn call(
        &self,
        service: &str,
        version: &str,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> Result<String> {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("Action", action)
            .append_pair("Version", version)
            .extend_pairs(parameters)
            .finish();
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential=AKIARIG/20260101/{}/{service}/aws4_request, SignedHeaders=host, Signature=0",
            crate::cloud::REGION
        );
        let request = Request::post(&self.endpoint)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("authorization", authorization)
            .body(Full::from(form))?;
        let answer = http::client().request(request).await.with_context(|| action.to_owned())?;
        let is_good = answer.status().is_success();
        let text = String::from_utf8(answer.into_body().collect().await?.to_bytes().into())?;
        if !is_good {
            bail!("{action}: {text}");
        }
        Ok(text)
    }
}

static LAUNCHES: AtomicU32 = AtomicU32::new(1);

const PROFILE: &str = "rig-node";

/// The version of SQS's API.
const SQS: &str = "2012-11-05";

/// The content of the first element of a name: enough for the few answers that are read here.
fn element<'a>(xml: &'a str, name: &str) -> Result<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>")).with_context(|| format!("no {name}"))?;
    let (content, _) =
        rest.split_once(&format!("</{name}>")).with_context(|| format!("no end of {name}"))?;
    Ok(content)
}
