#pragma once
#include <map>
#include <set>
#include <string>

#include "client/client.h"
#include "net/http/http.h"

namespace porthole::kubelet {

/// Rules of access to the kubelet's API.
struct AccessPolicy {
    std::set<std::string> trusted_groups = {"system:masters"};  ///< of client certificates
    bool ask_the_api = true;                                    ///< bearer tokens by TokenReview, other rights by SubjectAccessReview
};

/// Authenticates and authorizes a request, caching the API server's answers: the user of a token for 2 minutes, a permission for 5, a
/// refusal for 30 s. References must outlive its tasks.
class AccessControl {
public:
    AccessControl(EventLoop& loop, client::Client& client, AccessPolicy policy, std::string node_name)
        : loop_(loop), client_(client), policy_(std::move(policy)), node_name_(std::move(node_name)) {}

    /// Errors: Unauthorized, Forbidden, or why the API server could not be asked.
    Task<> check(const net::HttpRequest& request);

private:
    struct User {
        std::string name, uid;
        std::vector<std::string> groups;
    };
    struct Verdict {
        bool allowed = false;
        MonotonicTime until{};
    };
    Task<User> authenticate(const net::HttpRequest& request);
    Task<bool> is_allowed(User user, std::string verb, std::string subresource);

    EventLoop& loop_;
    client::Client& client_;
    AccessPolicy policy_;
    std::string node_name_;
    std::map<std::string, std::pair<User, MonotonicTime>> users_;  // by token
    std::map<std::string, Verdict> verdicts_;
};

/// The rights that a request needs on the node's object: verb, and the subresource for its path ("proxy" if there is no more specific one).
struct NodeAttributes {
    std::string verb, subresource;
};
NodeAttributes node_attributes(const std::string& method, const std::string& path);

}  // namespace porthole::kubelet
