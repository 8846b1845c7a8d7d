#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::apiserver {

/// The user of a request.
struct User {
    std::string name, uid;
    std::vector<std::string> groups;
    std::map<std::string, std::vector<std::string>> extra;

    bool in_group(std::string_view group) const { return std::ranges::find(groups, group) != groups.end(); }
};

inline constexpr std::string_view AnonymousUser = "system:anonymous";
inline constexpr std::string_view GroupMasters = "system:masters";
inline constexpr std::string_view GroupAuthenticated = "system:authenticated";
inline constexpr std::string_view GroupUnauthenticated = "system:unauthenticated";

inline User service_account_user(const std::string& namespace_, const std::string& name) {
    return {.name = "system:serviceaccount:" + namespace_ + ":" + name,
            .groups = {"system:serviceaccounts", "system:serviceaccounts:" + namespace_, std::string(GroupAuthenticated)}};
}

/// The user of a control-plane component: "kube-scheduler" acts as system:kube-scheduler.
inline User component_user(const std::string& component) {
    return {.name = "system:" + component, .groups = {std::string(GroupAuthenticated)}};
}

/// The server's own user while it creates the roles from which all other rights follow: may do everything.
inline User loopback_user() { return {.name = "system:apiserver", .groups = {std::string(GroupMasters), std::string(GroupAuthenticated)}}; }

}  // namespace porthole::apiserver
