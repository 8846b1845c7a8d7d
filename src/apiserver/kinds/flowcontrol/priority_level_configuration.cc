#include "api/flowcontrol_v1.h"
#include "apiserver/flow_control/default_configuration.h"
#include "apiserver/flow_control/shuffle_sharding.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/flowcontrol/conditions.h"
#include "apiserver/kinds/kinds.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

namespace flow = api::flowcontrol::v1;

constexpr std::int32_t MostQueues = 10'000'000;

void check_positive(std::int32_t value, const FieldPath& path, FieldErrors& errors) {
    check(value > 0, value, "must be positive", path, errors);
}

void check_shares(std::int32_t value, const FieldPath& path, FieldErrors& errors) {
    check(value >= 0, value, "must be a non-negative integer", path, errors);
}

void check_percent(std::int32_t value, const FieldPath& path, FieldErrors& errors) {
    check(value >= 0 && value <= 100, value, "must be between 0 and 100, inclusive", path, errors);
}

void validate_hand(const flow::QueuingConfiguration& queuing, const FieldPath& path, FieldErrors& errors) {
    if (queuing.hand_size <= 0) return check_positive(queuing.hand_size, path, errors);
    if (queuing.hand_size > queuing.queues)
        return errors.invalid(path, queuing.hand_size, "should not be greater than queues (" + std::to_string(queuing.queues) + ")");
    if (required_entropy_bits(static_cast<std::uint32_t>(queuing.queues), static_cast<std::uint32_t>(queuing.hand_size)) <= MaxHashBits)
        return;
    errors.invalid(path, queuing.hand_size,
                   "required entropy bits of deckSize " + std::to_string(queuing.queues) + " and handSize " +
                       std::to_string(queuing.hand_size) + " should not be greater than " + std::to_string(MaxHashBits));
}

void validate_queuing(const flow::QueuingConfiguration& queuing, const FieldPath& path, FieldErrors& errors) {
    check_positive(queuing.queue_length_limit, path / "queueLengthLimit", errors);
    if (queuing.queues > MostQueues)
        errors.invalid(path / "queues", queuing.queues, "must not be greater than " + std::to_string(MostQueues));
    else
        check_positive(queuing.queues, path / "queues", errors);
    validate_hand(queuing, path / "handSize", errors);
}

void validate_limit_response(const flow::LimitResponse& response, const FieldPath& path, FieldErrors& errors) {
    if (response.type == flow::LimitResponseType::Reject) {
        if (response.queuing) errors.forbidden(path / "queuing", "must be nil if limited.limitResponse.type is not Limited");
    } else if (response.type == flow::LimitResponseType::Queue) {
        if (!response.queuing) return errors.required(path / "queuing", "must not be empty if limited.limitResponse.type is Limited");
        validate_queuing(*response.queuing, path / "queuing", errors);
    } else {
        errors.not_supported(path / "type", response.type, {"Queue", "Reject"});
    }
}

void validate_limited(const flow::LimitedPriorityLevelConfiguration& limited, const FieldPath& path, FieldErrors& errors) {
    check_shares(limited.nominal_concurrency_shares.value_or(0), path / "nominalConcurrencyShares", errors);
    validate_limit_response(limited.limit_response, path / "limitResponse", errors);
    check_percent(limited.lendable_percent.value_or(0), path / "lendablePercent", errors);
    if (limited.borrowing_limit_percent.value_or(0) < 0)
        errors.invalid(path / "borrowingLimitPercent", *limited.borrowing_limit_percent, "if specified, must be a non-negative integer");
}

void validate_exempt(const flow::ExemptPriorityLevelConfiguration& exempt, const FieldPath& path, FieldErrors& errors) {
    check_shares(exempt.nominal_concurrency_shares.value_or(0), path / "nominalConcurrencyShares", errors);
    check_percent(exempt.lendable_percent.value_or(0), path / "lendablePercent", errors);
}

void validate_spec(const flow::PriorityLevelConfiguration& object, const FieldPath& path, FieldErrors& errors) {
    const flow::PriorityLevelConfigurationSpec& spec = object.spec;
    if ((object.metadata.name == ExemptName) != (spec.type == flow::PriorityLevelEnablement::Exempt))
        errors.invalid(path / "type", spec.type, "type must be 'Exempt' if and only if name is 'exempt'");
    if (spec.type == flow::PriorityLevelEnablement::Exempt) {
        if (spec.exempt) validate_exempt(*spec.exempt, path / "exempt", errors);
        if (spec.limited) errors.forbidden(path / "limited", "must be nil if the type is not Limited");
    } else if (spec.type == flow::PriorityLevelEnablement::Limited) {
        if (spec.exempt) errors.forbidden(path / "exempt", "must be nil if the type is Limited");
        if (!spec.limited) return errors.required(path / "limited", "must not be empty when type is Limited");
        validate_limited(*spec.limited, path / "limited", errors);
    } else {
        errors.not_supported(path / "type", spec.type, {"Exempt", "Limited"});
    }
}

/// The mandatory ones are fixed, but for how many seats exempt requests lend.
void check_fixed(const flow::PriorityLevelConfiguration& object, const FieldPath& path, FieldErrors& errors) {
    for (const flow::PriorityLevelConfiguration& fixed : default_priority_levels()) {
        if (!is_mandatory_name(fixed.metadata.name) || fixed.metadata.name != object.metadata.name) continue;
        const bool is_exempt = object.metadata.name == ExemptName;
        flow::PriorityLevelConfigurationSpec wanted = fixed.spec;
        if (is_exempt) wanted.exempt = object.spec.exempt;
        if (wanted == object.spec) continue;
        errors.invalid(
            path, schema::to_value(object.spec),
            "spec of '" + object.metadata.name + (is_exempt ? "' except the 'spec.exempt' field" : "'") + " must equal the fixed value");
    }
}

void validate(const flow::PriorityLevelConfiguration& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    validate_spec(object, path, errors);
    check_fixed(object, path, errors);
    check_condition_types(object.status.conditions, errors);
}

void validate_status_update(const flow::PriorityLevelConfiguration& object, const flow::PriorityLevelConfiguration&, FieldErrors& errors) {
    check_condition_types(object.status.conditions, errors);
}

}  // namespace

Strategy priority_level_configuration_strategy() {
    Strategy strategy =
        strategy_for<flow::PriorityLevelConfiguration>({.validate = validate, .validate_status_update = validate_status_update});
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

}  // namespace porthole::apiserver
