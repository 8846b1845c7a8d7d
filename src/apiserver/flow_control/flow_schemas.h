#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/flowcontrol_v1.h"
#include "apiserver/request/request_info.h"
#include "apiserver/request/user.h"

namespace porthole::apiserver {

/// Finds the FlowSchema of a request: the first with a matching rule, by matching precedence, then name.
///
/// Caches which rules apply to the most recent users, so that a request costs little more than the rules of its own schema.
class FlowSchemas {
public:
    using FlowSchema = api::flowcontrol::v1::FlowSchema;
    using Rules = api::flowcontrol::v1::PolicyRulesWithSubjects;

    explicit FlowSchemas(std::vector<FlowSchema> schemas);
    FlowSchemas(const FlowSchemas&) = delete;

    const std::vector<FlowSchema>& ordered() const { return schemas_; }
    /// The index in ordered() of the matching schema; of the last one if none matches.
    std::size_t find(const User& user, const RequestInfo& info);

private:
    struct Candidate {
        std::size_t schema;
        const Rules* rules;
    };
    struct KnownUser {
        std::string name;
        std::vector<std::string> groups;
        std::vector<Candidate> candidates;
        bool known = false;
    };
    const KnownUser& look_up(const User& user);

    std::vector<FlowSchema> schemas_;
    std::array<KnownUser, 256> users_;
};

/// "ByUser", "ByNamespace" or "": what distinguishes the flows of a schema.
std::string_view flow_distinguisher(const api::flowcontrol::v1::FlowSchema& schema, const User& user, const RequestInfo& info);

}  // namespace porthole::apiserver
