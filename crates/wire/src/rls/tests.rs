//! Compares the structs with the proto file.

use super::*;
use prost_reflect::{DescriptorPool, DynamicMessage};

/// `message` must read, by the file, as `text`; and must use every field that the file has.
#[track_caller]
fn check(message: &impl Message, name: &str, text: &str) {
    let files = protox::compile(["rls.proto"], [concat!(env!("CARGO_MANIFEST_DIR"), "/proto")]).unwrap();
    let pool = DescriptorPool::from_file_descriptor_set(files).unwrap();
    let descriptor = pool.get_message_by_name(&format!("envoy.service.ratelimit.v3.{name}")).unwrap();
    let read = DynamicMessage::decode(descriptor.clone(), message.encode_to_vec().as_slice()).unwrap();
    assert_eq!(read.to_text_format(), text);
    assert_eq!(read.unknown_fields().count(), 0, "{name} has fields that the file does not know");
    for field in descriptor.fields() {
        assert!(read.has_field(&field), "{name}.{} is in the file alone", field.name());
    }
}

#[test]
fn the_structs_agree_with_the_proto_file() {
    let entry = Entry { key: "k".to_owned(), value: "v".to_owned() };
    let limit = RateLimitOverride { requests_per_unit: 5, unit: Unit::Hour.into() };
    let descriptor = RateLimitDescriptor {
        entries: vec![entry.clone()],
        limit: Some(limit),
        hits_addend: Some(7),
        is_negative_hits: true,
    };
    let in_force = RateLimit { requests_per_unit: 9, unit: Unit::Minute.into(), name: "burst".to_owned() };
    let status = DescriptorStatus {
        code: Code::OverLimit.into(),
        current_limit: Some(in_force.clone()),
        limit_remaining: 3,
        duration_until_reset: Some(std::time::Duration::from_millis(1_250).into()),
    };
    let header = HeaderValue { key: "retry-after".to_owned(), value: "2".to_owned() };

    check(&entry, "RateLimitDescriptor.Entry", r#"key:"k",value:"v""#);
    check(&limit, "RateLimitDescriptor.RateLimitOverride", "requests_per_unit:5,unit:HOUR");
    check(
        &descriptor,
        "RateLimitDescriptor",
        r#"entries:[{key:"k",value:"v"}],limit{requests_per_unit:5,unit:HOUR},hits_addend{value:7},is_negative_hits:true"#,
    );
    check(
        &RateLimitRequest {
            domain: "shop".to_owned(),
            descriptors: vec![RateLimitDescriptor::default()],
            hits_addend: 2,
        },
        "RateLimitRequest",
        r#"domain:"shop",descriptors:[{}],hits_addend:2"#,
    );
    check(&in_force, "RateLimitResponse.RateLimit", r#"requests_per_unit:9,unit:MINUTE,name:"burst""#);
    check(
        &status,
        "RateLimitResponse.DescriptorStatus",
        r#"code:OVER_LIMIT,current_limit{requests_per_unit:9,unit:MINUTE,name:"burst"},limit_remaining:3,duration_until_reset{seconds:1,nanos:250000000}"#,
    );
    check(&header, "HeaderValue", r#"key:"retry-after",value:"2""#);
    check(
        &RateLimitResponse {
            overall_code: Code::Ok.into(),
            statuses: vec![DescriptorStatus::default()],
            response_headers_to_add: vec![HeaderValue::default()],
        },
        "RateLimitResponse",
        "overall_code:OK,statuses:[{}],response_headers_to_add:[{}]",
    );
}

#[test]
fn units_have_the_numbers_of_the_file() {
    let units = [
        (Unit::Second, "SECOND"),
        (Unit::Minute, "MINUTE"),
        (Unit::Hour, "HOUR"),
        (Unit::Day, "DAY"),
        (Unit::Week, "WEEK"),
        (Unit::Month, "MONTH"),
        (Unit::Year, "YEAR"),
    ];
    for (unit, name) in units {
        let limit = RateLimitOverride { requests_per_unit: 1, unit: unit.into() };
        check(&limit, "RateLimitDescriptor.RateLimitOverride", &format!("requests_per_unit:1,unit:{name}"));
    }
}
