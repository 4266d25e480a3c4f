"""What the service needs of Amazon, made on moto's server: a bucket, a distribution and a queue.

Only `python -m examples.image_service` and the tests use this. On AWS you make the three by your own means.
"""

import json
from collections.abc import Mapping

from aiobotocore.session import get_session

REGION = "eu-west-1"
BUCKET = "pictures"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": REGION,
}
READABLE = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": "*",
            "Action": "s3:GetObject",
            "Resource": f"arn:aws:s3:::{BUCKET}/images/*",
        }
    ],
}


async def prepare(address: str) -> Mapping[str, str]:
    """Make bucket, distribution and queue; returns the variables that lead API and workers there."""
    session = get_session()
    terms = {
        "endpoint_url": address,
        "region_name": REGION,
        "aws_access_key_id": "local",
        "aws_secret_access_key": "local",
    }
    async with (
        session.create_client("s3", **terms) as s3,
        session.create_client("cloudfront", **terms) as cloudfront,
        session.create_client("sqs", **terms) as sqs,
    ):
        await s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        await s3.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps(READABLE))
        made = await cloudfront.create_distribution(DistributionConfig=_DISTRIBUTION)
        queue = await sqs.create_queue(QueueName="images")
    return {
        **CREDENTIALS,
        "AWS_ENDPOINT_URL": address,
        "IMAGES_BUCKET": BUCKET,
        "IMAGES_DISTRIBUTION": made["Distribution"]["Id"],
        "IMAGES_PUBLIC_URL": f"{address}/{BUCKET}",
        "TENURE_SQS_QUEUE_URL": queue["QueueUrl"],
    }


_DISTRIBUTION = {
    "CallerReference": "images",
    "Comment": "",
    "Enabled": True,
    "Origins": {
        "Quantity": 1,
        "Items": [
            {
                "Id": BUCKET,
                "DomainName": f"{BUCKET}.s3.amazonaws.com",
                "S3OriginConfig": {"OriginAccessIdentity": ""},
            }
        ],
    },
    "DefaultCacheBehavior": {"TargetOriginId": BUCKET, "ViewerProtocolPolicy": "redirect-to-https"},
}
