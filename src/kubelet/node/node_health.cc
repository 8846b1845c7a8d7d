#include "kubelet/node/node_health.h"

#include "base/strings.h"

namespace porthole::kubelet {
namespace {

using Lease = api::coordination::v1::Lease;
using Type = core::NodeConditionType;

constexpr std::int32_t LeaseSeconds = 40;

std::string joined_problems(const std::vector<std::string>& problems) {
    if (problems.size() == 1) return problems.front();
    return "[" + join(problems, ", ") + "]";
}

}  // namespace

core::NodeCondition node_condition(const char* type, bool holds, const char* reason, std::string message) {
    core::NodeCondition made;
    made.type = type;
    made.status = holds ? core::ConditionStatus::True : core::ConditionStatus::False;
    made.reason = reason;
    made.message = std::move(message);
    return made;
}

std::vector<HealthCondition> health_conditions(const NodeHealth& health) {
    const auto pressure = [](bool holds, const char* type, HealthCondition yes, HealthCondition no) {
        HealthCondition made = holds ? std::move(yes) : std::move(no);
        made.condition.type = type;
        return made;
    };
    const auto told = [](bool holds, const char* reason, const char* message, const char* event) {
        return HealthCondition{node_condition("", holds, reason, message), event};
    };
    const bool ready = health.problems.empty();
    return {
        pressure(health.memory_pressure, Type::MemoryPressure,
                 told(true, "KubeletHasInsufficientMemory", "kubelet has insufficient memory available", "NodeHasInsufficientMemory"),
                 told(false, "KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory")),
        pressure(health.disk_pressure, Type::DiskPressure,
                 told(true, "KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"),
                 told(false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure")),
        pressure(health.pid_pressure, Type::PIDPressure,
                 told(true, "KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"),
                 told(false, "KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID")),
        {ready ? node_condition(Type::Ready, true, "KubeletReady", "kubelet is posting ready status")
               : node_condition(Type::Ready, false, "KubeletNotReady", joined_problems(health.problems)),
         ready ? "NodeReady" : "NodeNotReady"},
    };
}

Lease renewed_lease(Lease lease, const std::string& node, const std::string& node_uid, SystemTime now) {
    lease.metadata.name = node;
    lease.metadata.namespace_ = NodeLeaseNamespace;
    lease.spec.holder_identity = node;
    lease.spec.lease_duration_seconds = LeaseSeconds;
    lease.spec.renew_time = MicroTimestamp(now);
    if (lease.metadata.owner_references.empty() && !node_uid.empty()) {
        auto& owner = lease.metadata.owner_references.emplace_back();
        owner.api_version = "v1";
        owner.kind = "Node";
        owner.name = node;
        owner.uid = node_uid;
    }
    return lease;
}

}  // namespace porthole::kubelet
