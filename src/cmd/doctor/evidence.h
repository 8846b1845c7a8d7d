#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "api/networking_v1.h"
#include "api/rbac_v1.h"
#include "runtime/event_loop.h"
#include "schema/value.h"

namespace porthole::cmd::doctor {

namespace core = api::core::v1;
namespace rbac = api::rbac::v1;

/// A file or directory on the server's machine.
struct FileFact {
    enum class Kind {
        Key,
        Certificate,
        PkiFolder,
        Kubeconfig,
        StoreFile,
        StoreFolder,
        CniConfiguration,
        NodeIdentity,
        AuthorityFile,
        AuditLog
    };
    Kind kind;
    std::filesystem::path path;
    unsigned mode = 0;          ///< permission bits only
    unsigned uid = 0, gid = 0;  ///< 0 also for root of an emulated host, if the file is on its disk
};

/// A running emulated Windows host of this machine, and the uid of its root.
struct EmulatedHostFact {
    std::string node;
    unsigned root = 0;
};

/// A certificate in the directory pki. A plain value.
struct CertificateFact {
    std::string name;  ///< of its file, without directory and suffix
    bool authority = false;
    SystemTime not_before{}, not_after{};
    std::string key_kind;
    int key_bits = 0;
};

/// Facts about the machine of the control plane.
struct HostFacts {
    std::vector<FileFact> files;
    std::vector<CertificateFact> certificates;
    std::vector<EmulatedHostFact> emulated_hosts;
    bool has_own_etcd = false;                ///< of `up --servers 3`
    std::optional<std::string> up_data_flag;  ///< if `porthole up` runs the cluster: its argument " --data DIR", or ""
};

/// A node, and its kubelet's own data. A plain value.
struct KubeletFact {
    std::string node;
    bool windows = false;
    std::optional<schema::Value> configuration;  ///< KubeletConfiguration from its /configz
    std::string error;                           ///< why there is none
};

/// A Secret of a token, without the token.
struct TokenSecret {
    std::string namespace_, name, account;
    SystemTime created{};
    std::optional<SystemTime> expires;  ///< of a bootstrap token
    std::string last_used;              ///< a date, where the server records it
};

/// The answer to a request without credentials.
struct AnonymousAnswer {
    std::string path;
    int code = 0;
};

/// Everything that the checks judge by. A plain value, read at one time.
struct Evidence {
    SystemTime now{};
    std::optional<std::map<std::string, std::string>> server_flags;  ///< from /flagz
    std::string server_flags_error;                                  ///< why there are none
    std::vector<AnonymousAnswer> anonymous;
    std::vector<KubeletFact> kubelets;
    std::vector<rbac::ClusterRole> cluster_roles;
    std::vector<rbac::Role> roles;
    std::vector<rbac::ClusterRoleBinding> cluster_role_bindings;
    std::vector<rbac::RoleBinding> role_bindings;
    std::vector<core::Namespace> namespaces;
    std::vector<core::ServiceAccount> service_accounts;
    std::vector<core::Pod> pods;
    std::vector<api::networking::v1::NetworkPolicy> network_policies;
    std::vector<TokenSecret> account_tokens, bootstrap_tokens;
    std::vector<std::string> admin_groups;  ///< in the kubeconfig's certificate; empty for other credentials
    bool admin_by_certificate = false;
    std::optional<HostFacts> host;
    std::string host_missing;  ///< why there are no host facts

    /// The value of a flag of the server; nullopt if the server does not report it.
    std::optional<std::string> flag(const std::string& name) const {
        if (!server_flags) return std::nullopt;
        const auto found = server_flags->find(name);
        return found == server_flags->end() ? std::nullopt : std::optional(found->second);
    }
};

/// Whether it is Kubernetes' own and in every cluster: namespaces, and roles and bindings that the server maintains.
bool is_system_namespace(const std::string& name);
template <class T>
bool is_bootstrap(const T& object) {
    const auto found = object.metadata.labels.find("kubernetes.io/bootstrapping");
    return found != object.metadata.labels.end() && found->second == "rbac-defaults";
}
template <class T>
std::string name_of(const T& object) {
    return object.metadata.namespace_.empty() ? object.metadata.name : object.metadata.namespace_ + "/" + object.metadata.name;
}

}  // namespace porthole::cmd::doctor
