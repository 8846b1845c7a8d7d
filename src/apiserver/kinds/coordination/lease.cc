#include "api/coordination_v1.h"
#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

using api::coordination::v1::Lease;

void validate(const Lease& object, FieldErrors& errors) {
    const FieldPath spec = "spec";
    if (object.spec.lease_duration_seconds && *object.spec.lease_duration_seconds <= 0)
        errors.invalid(spec / "leaseDurationSeconds", *object.spec.lease_duration_seconds, "must be greater than 0");
    if (object.spec.lease_transitions && *object.spec.lease_transitions < 0)
        errors.invalid(spec / "leaseTransitions", *object.spec.lease_transitions, "must be greater than or equal to 0");
    if (object.spec.strategy && object.spec.strategy->empty()) errors.required(spec / "strategy");
    if (object.spec.preferred_holder && !object.spec.preferred_holder->empty() && (!object.spec.strategy || object.spec.strategy->empty()))
        errors.forbidden(spec / "preferredHolder", "may only be specified if `strategy` is defined");
}

}  // namespace

Strategy lease_strategy() {
    Strategy strategy = strategy_for<Lease>({.validate = validate});
    strategy.create_on_update = true;
    strategy.unconditional_update = false;
    // Each node renews its lease every ten seconds: with 1,000 nodes, ten renewals share a sync of the disk.
    strategy.heartbeat_namespace = "kube-node-lease";
    return strategy;
}

}  // namespace porthole::apiserver
