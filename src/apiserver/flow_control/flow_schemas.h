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

/// Finds the FlowSchema of a request: the first by matching precedence, then name, of which a rule matches.
///
/// Which rules are about a user is remembered for the users who asked last, so that a request costs little more than the rules of its
/// own schema.
class FlowSchemas {
public:
    using FlowSchema = api::flowcontrol::v1::FlowSchema;
    using Rules = api::flowcontrol::v1::PolicyRulesWithSubjects;

    explicit FlowSchemas(std::vector<FlowSchema> schemas);
    FlowSchemas(const FlowSchemas&) = delete;

    const std::vector<FlowSchema>& ordered() const { return schemas_; }
    /// The place in ordered() of the schema that matches; that of the last one when none does.
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

/// "ByUser", "ByNamespace" or none: what tells the flows of a schema apart.
std::string_view flow_distinguisher(const api::flowcontrol::v1::FlowSchema& schema, const User& user, const RequestInfo& info);

}  // namespace porthole::apiserver
