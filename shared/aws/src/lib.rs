//! Amazon EC2, DynamoDB and EKS behind the ports of the controllers.
