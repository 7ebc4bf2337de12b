# Made by .ci/terraform/parameters.py from infra/cluster.yaml: a variable for each parameter.

variable "alarm_topic_arn" {
  description = "An SNS topic that alarms notify. Empty raises them without telling anybody."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[\\w-]+)?$", var.alarm_topic_arn))
    error_message = "alarm_topic_arn must be the ARN of an SNS topic, or empty."
  }
}

variable "cluster_name" {
  description = "The EKS cluster. The installation's parameter ClusterNames must hold it, by name or by a pattern."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be the name of an EKS cluster."
  }
}

variable "disruption_schedule" {
  description = "When the function disruption runs for the cluster."
  type        = string
  default     = "rate(1 minute)"
  nullable    = false

  validation {
    condition     = can(regex("^rate\\((1 minute|([2-9]|[1-5][0-9]) minutes|1 hour|([2-9]|1[0-9]|2[0-4]) hours)\\)$", var.disruption_schedule))
    error_message = "disruption_schedule must be rate(1 minute), up to rate(59 minutes), or rate(1 hour), up to rate(24 hours)."
  }
}

variable "lifecycle_schedule" {
  description = "When the function lifecycle runs for the cluster."
  type        = string
  default     = "rate(1 minute)"
  nullable    = false

  validation {
    condition     = can(regex("^rate\\((1 minute|([2-9]|[1-5][0-9]) minutes|1 hour|([2-9]|1[0-9]|2[0-4]) hours)\\)$", var.lifecycle_schedule))
    error_message = "lifecycle_schedule must be rate(1 minute), up to rate(59 minutes), or rate(1 hour), up to rate(24 hours)."
  }
}

variable "metrics_namespace" {
  description = "The CloudWatch namespace of metrics."
  type        = string
  default     = "Outrigger"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9._/#-]{1,255}$", var.metrics_namespace))
    error_message = "metrics_namespace must be letters, digits and . _ /."
  }
}

variable "pod_wait_seconds_max" {
  description = "An alarm is raised when a pod waits for a node for longer than so many seconds."
  type        = number
  default     = 600
  nullable    = false

  validation {
    condition     = var.pod_wait_seconds_max >= 60 && var.pod_wait_seconds_max <= 86400
    error_message = "pod_wait_seconds_max must be from 60 to 86400."
  }
}

variable "provisioning_schedule" {
  description = "When the function provisioning runs for the cluster, and in watch mode the function watcher, which stays for up to a minute."
  type        = string
  default     = "rate(1 minute)"
  nullable    = false

  validation {
    condition     = can(regex("^rate\\((1 minute|([2-9]|[1-5][0-9]) minutes|1 hour|([2-9]|1[0-9]|2[0-4]) hours)\\)$", var.provisioning_schedule))
    error_message = "provisioning_schedule must be rate(1 minute), up to rate(59 minutes), or rate(1 hour), up to rate(24 hours)."
  }
}

variable "reaction_mode" {
  description = "watch: the function watcher stays from one tick to the next, and pods that wait are acted upon within a second. tick: provisioning wakes itself every five seconds to look for them, which costs little more than half of that. poll: functions look once a minute."
  type        = string
  default     = "tick"
  nullable    = false

  validation {
    condition     = contains(["watch", "tick", "poll"], var.reaction_mode)
    error_message = "reaction_mode must be watch, tick or poll."
  }
}

locals {
  parameters = {
    ClusterName          = var.cluster_name
    ReactionMode         = var.reaction_mode
    ProvisioningSchedule = var.provisioning_schedule
    LifecycleSchedule    = var.lifecycle_schedule
    DisruptionSchedule   = var.disruption_schedule
    MetricsNamespace     = var.metrics_namespace
    AlarmTopicArn        = var.alarm_topic_arn
    PodWaitSecondsMax    = tostring(var.pod_wait_seconds_max)
  }
}
