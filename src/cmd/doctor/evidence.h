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

/// A file or folder on the server's machine.
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
    unsigned uid = 0, gid = 0;  ///< 0 for root of an emulated host, too, where the file is on that one's disk
};

/// A running emulated Windows host of this machine, and who its root is here.
struct EmulatedHostFact {
    std::string node;
    unsigned root = 0;
};

/// One certificate of the folder pki. A plain value.
struct CertificateFact {
    std::string name;  ///< of its file, without folder and suffix
    bool authority = false;
    SystemTime not_before{}, not_after{};
    std::string key_kind;
    int key_bits = 0;
};

/// What is known on the machine that the control plane runs on.
struct HostFacts {
    std::vector<FileFact> files;
    std::vector<CertificateFact> certificates;
    std::vector<EmulatedHostFact> emulated_hosts;
    bool has_own_etcd = false;  ///< of `up --servers 3`
};

/// A node, and what its kubelet tells of itself. A plain value.
struct KubeletFact {
    std::string node;
    bool windows = false;
    std::optional<schema::Value> configuration;  ///< KubeletConfiguration, as its /configz tells it
    std::string error;                           ///< why there is none
};

/// A Secret that holds a token, without the token.
struct TokenSecret {
    std::string namespace_, name, account;
    SystemTime created{};
    std::optional<SystemTime> expires;  ///< of a bootstrap token
    std::string last_used;              ///< a date, where the server records it
};

/// What a request without credentials was answered.
struct AnonymousAnswer {
    std::string path;
    int code = 0;
};

/// Everything that the checks judge by. A plain value, read at one time.
struct Evidence {
    SystemTime now{};
    std::optional<std::map<std::string, std::string>> server_flags;  ///< as /flagz tells them
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
    std::vector<std::string> admin_groups;  ///< of the certificate that the kubeconfig shows; empty for other credentials
    bool admin_by_certificate = false;
    std::optional<HostFacts> host;
    std::string host_missing;  ///< why there are no host facts

    /// The value of a flag of the server; nullopt where it does not tell.
    std::optional<std::string> flag(const std::string& name) const {
        if (!server_flags) return std::nullopt;
        const auto found = server_flags->find(name);
        return found == server_flags->end() ? std::nullopt : std::optional(found->second);
    }
};

/// Of Kubernetes' own, which every cluster has: namespaces, and roles and bindings that the server keeps as they are.
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
