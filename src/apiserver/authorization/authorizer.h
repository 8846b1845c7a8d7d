#pragma once
#include <memory>
#include <string>
#include <vector>

#include "apiserver/request/request_info.h"
#include "apiserver/request/user.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// The request to authorize.
struct AuthorizationAttributes {
    User user;
    std::string verb;
    bool is_resource = false;
    std::string group, version, resource, subresource, namespace_, name;
    std::string path;                            ///< where `is_resource` is false
    std::string label_selector, field_selector;  ///< of list, watch and deletecollection, as sent

    bool read_only() const { return verb == "get" || verb == "list" || verb == "watch"; }
};
AuthorizationAttributes authorization_attributes(const User& user, const RequestInfo& info);

/// An authorizer's answer. NoOpinion leaves the question to the next one.
struct Decision {
    enum class Kind { Allow, Deny, NoOpinion };
    Kind kind = Kind::NoOpinion;
    std::string reason;   ///< for people and the audit log; may be empty
    std::string error{};  ///< why it could not be found out; "" if it was

    static Decision allow(std::string reason = "") { return {Kind::Allow, std::move(reason)}; }
    static Decision deny(std::string reason) { return {Kind::Deny, std::move(reason)}; }
    static Decision no_opinion(std::string reason = "") { return {Kind::NoOpinion, std::move(reason)}; }
    /// Where it could not be found out: Deny or NoOpinion.
    static Decision failed(Kind kind, std::string error) { return {kind, "", std::move(error)}; }
    bool allowed() const { return kind == Kind::Allow; }
};

/// Decides what a user may do. Runs on the server's loop; several decisions may be in progress at a time.
class Authorizer {
public:
    virtual ~Authorizer() = default;
    /// `attributes` outlives the task. An Error means that it could not be found out, and counts as no opinion.
    virtual Task<Decision> authorize(const AuthorizationAttributes& attributes) = 0;
};

/// Allows everything to system:masters.
class PrivilegedGroupAuthorizer final : public Authorizer {
public:
    Task<Decision> authorize(const AuthorizationAttributes& attributes) override;
};

/// Allows everyone to read health, and with `version_and_discovery` also the version; authenticated users also discovery.
class PublicPathAuthorizer final : public Authorizer {
public:
    explicit PublicPathAuthorizer(bool version_and_discovery = true) : version_and_discovery_(version_and_discovery) {}
    Task<Decision> authorize(const AuthorizationAttributes& attributes) override;

private:
    bool version_and_discovery_;
};

/// Asks in order; the first that allows or denies decides. If none allows, the request is denied. Owns the authorizers. The error of an
/// authorizer without opinion is reported with the others' decision unless a later one allows or denies.
class AuthorizerChain final : public Authorizer {
public:
    using Authorizers = std::vector<std::unique_ptr<Authorizer>>;
    /// Replaces the authorizers; decisions in progress use the previous ones.
    void use(Authorizers authorizers) { authorizers_ = std::make_shared<const Authorizers>(std::move(authorizers)); }
    Task<Decision> authorize(const AuthorizationAttributes& attributes) override;

private:
    std::shared_ptr<const Authorizers> authorizers_ = std::make_shared<const Authorizers>();
};

/// The Forbidden error for a decision that does not allow, with Kubernetes' message.
Error forbidden(const AuthorizationAttributes& attributes, const std::string& reason);
/// The same; InternalError where the decision has an error.
Error refusal(const AuthorizationAttributes& attributes, const Decision& decision);

}  // namespace porthole::apiserver
