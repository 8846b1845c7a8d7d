#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apiserver/admission/plugins.h"
#include "apiserver/authentication/authentication_config.h"
#include "apiserver/authorization/authorization_config.h"
#include "apiserver/bootstrap/bootstrap.h"
#include "apiserver/server.h"
#include "apiserver/subresources/connector.h"
#include "runtime/worker_pool.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Options of the API server, and its certificates.
struct ApiServerOptions {
    BootstrapOptions bootstrap;
    /// --runtime-config: versions that are off by default, "extensions/v1beta1", or one resource,
    /// "certificates.k8s.io/v1beta1/clustertrustbundles".
    std::set<std::string> served_versions;
    std::vector<std::string> service_cidrs;
    std::uint16_t first_node_port = 30000, last_node_port = 32767;
    std::string service_account_key_pem;           ///< EC P-256 or RSA
    std::string previous_service_account_key_pem;  ///< whose tokens stay valid; "" for none
    bool extend_service_account_tokens = true;     ///< --service-account-extend-token-expiration
    /// --service-account-issuer: the first one issues tokens, and those of all are accepted; at least one. They are the audiences of this
    /// server, too.
    std::vector<std::string> service_account_issuers{"https://kubernetes.default.svc.cluster.local"};
    std::string git_version = "v1.36.0";
    std::string front_proxy_certificate_pem, front_proxy_key_pem;  ///< presented to extension API servers; "" for none
    Server::Limits limits;
    std::size_t store_quota_bytes = store::Store::Options().quota_bytes;  ///< 0: none
    AuthenticationOptions authentication;
    std::vector<AuthorizerOptions> authorizers{{.type = AuthorizerOptions::Type::Node}, {.type = AuthorizerOptions::Type::Rbac}};
    AdmissionOptions admission;
    bool reconcile_endpoints = true;           ///< --endpoint-reconciler-type: lease; false: others maintain the endpoints of "kubernetes"
    Auditor* audit = nullptr;                  ///< records requests; outlives the server
    std::map<std::string, std::string> flags;  ///< for /flagz: the settings by the names of Kubernetes' flags, no secrets
    bool priority_and_fairness = true;         ///< else requests in flight are counted
    /// Appended to /metrics: metrics of other components of this process. Called on the API's loop; may be empty.
    std::function<Task<std::string>()> more_metrics;
};

/// The collaborators of an API server; outlive it.
struct ApiServerSeams {
    EventLoop& loop;
    WorkerPool& pool;
    Random& random;
    Logger log;
    Connector* connector = nullptr;       ///< connections to kubelets and pods; null if there are none
    OutgoingClients* outgoing = nullptr;  ///< clients of webhooks and token issuers; null if there are none
};

}  // namespace porthole::apiserver
