#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/request/request_info.h"
#include "apiserver/request/user.h"
#include "base/result.h"

namespace porthole::apiserver {

/// How much of a request is recorded, least first.
enum class AuditLevel : std::uint8_t { None, Metadata, Request, RequestResponse };
std::string_view to_string(AuditLevel level);

/// When an event is written. The stage Panic never occurs, because such a fault ends this process; policies may name it.
enum class AuditStage : std::uint8_t { RequestReceived, ResponseStarted, ResponseComplete, Panic };
std::string_view to_string(AuditStage stage);

/// Some of the stages.
class AuditStages {
public:
    void add(AuditStage stage) { bits_ |= bit(stage); }
    bool contains(AuditStage stage) const { return (bits_ & bit(stage)) != 0; }
    AuditStages operator|(AuditStages other) const {
        other.bits_ |= bits_;
        return other;
    }

private:
    static std::uint8_t bit(AuditStage stage) { return static_cast<std::uint8_t>(1u << static_cast<unsigned>(stage)); }
    std::uint8_t bits_ = 0;
};

/// A policy's decision for one request, before the answer is known.
struct AuditDecision {
    AuditLevel level = AuditLevel::None;
    AuditStages omitted;
    bool omit_managed_fields = false;

    bool wants(AuditStage stage) const { return level != AuditLevel::None && !omitted.contains(stage); }
};

/// An audit.k8s.io/v1 Policy: the first rule that matches a request decides; requests that no rule matches are not recorded. Immutable. See
/// kubernetes/apiserver: pkg/audit/policy/checker.go.
class AuditPolicy {
public:
    struct Resources {
        std::string group;  ///< "" is the core group
        std::vector<std::string> resources;
        std::vector<std::string> names;
    };
    struct Rule {
        AuditLevel level = AuditLevel::None;
        std::vector<std::string> users, groups, verbs, namespaces, non_resource_urls;
        std::vector<Resources> resources;
        AuditStages omitted;  ///< including those of the whole policy
        bool omit_managed_fields = false;
        /// Differs from Kubernetes: only for requests of the control plane's components in this process. Not in a file.
        bool only_components = false;
    };

    /// A policy file, YAML or JSON. As upstream, unknown and duplicate fields are ignored; `warnings` names them. Error: BadRequest with
    /// all errors, in upstream's messages.
    static Result<AuditPolicy> parse(std::string_view text, std::vector<std::string>& warnings);
    /// The policy used without a file; see default_policy.cc.
    static AuditPolicy built_in();

    /// `user` is null for a request whose sender could not be authenticated.
    AuditDecision decide(const User* user, const RequestInfo& info, bool by_component) const;

    /// Differs from Kubernetes: the level at which a request that no rule records is recorded if it is answered with 401 or 403. None for a
    /// policy from a file, whose rules alone decide.
    AuditLevel refusals() const { return refusals_; }

private:
    std::vector<Rule> rules_;
    AuditDecision otherwise_;  ///< for requests that no rule matches
    AuditLevel refusals_ = AuditLevel::None;
};

}  // namespace porthole::apiserver
