#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/audit/audit_policy.h"

namespace porthole::apiserver {

/// A destination of events. Lives on the server's loop; never delays a request.
class AuditBackend {
public:
    virtual ~AuditBackend() = default;
    /// `event` is JSON without a line break.
    virtual void add(const std::string& event) = 0;

    /// Lost events, by upstream's name of the cause: "log", "webhook" or "buffered".
    struct Lost {
        const char* plugin;
        std::uint64_t events;
    };
    virtual std::vector<Lost> lost() const = 0;
};

/// Decides by the policy and hands events to every back end, counting both under upstream's names. Lives on the server's loop; the back
/// ends outlive it.
class Auditor {
public:
    Auditor(AuditPolicy policy, std::vector<AuditBackend*> backends) : policy_(std::move(policy)), backends_(std::move(backends)) {}

    /// Once for each request; arguments as AuditPolicy::decide().
    AuditDecision decide(const User* user, const RequestInfo& info, bool by_component);
    AuditLevel refusals() const { return policy_.refusals(); }
    void record(const std::string& event);

    void append_metrics(std::string& out) const;

private:
    const AuditPolicy policy_;
    const std::vector<AuditBackend*> backends_;
    std::uint64_t events_ = 0;
    std::array<std::uint64_t, 4> levels_{};
};

}  // namespace porthole::apiserver
