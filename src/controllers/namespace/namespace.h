#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "client/discovery.h"
#include "client/informers/controller.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// The remaining content of a namespace, and the failures.
struct NamespaceRemains {
    std::map<std::string, int> objects;     ///< by resource, "pods.", "deployments.apps"
    std::map<std::string, int> finalizers;  ///< number of objects that have each
    std::vector<std::string> failures;
    std::chrono::seconds longest_grace{};  ///< after which more should be deleted

    bool empty() const { return objects.empty() && failures.empty(); }
};
/// Sets the five conditions that show it. True when any has changed.
bool set_deletion_conditions(api::core::v1::NamespaceStatus& status, const client::Discovery& discovery, const NamespaceRemains& remains,
                             SystemTime now);

/// Deletes the content of namespaces that are being deleted.
///
/// Differs from Kubernetes: begins half a second after the deletion is observed instead of five (long enough for every server to refuse new
/// objects), and checks again each second while pods end, so that `kubectl delete namespace` does not wait longer than its pods.
class NamespaceController final : public client::Controller {
public:
    static constexpr const char* Account = "namespace-controller";
    explicit NamespaceController(Context& context);

private:
    using Namespace = api::core::v1::Namespace;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Task<> mark_terminating(Namespace& space);
    Task<NamespaceRemains> delete_content(std::string name, const client::Discovery& discovery);
    Task<> delete_resource(std::string name, client::DiscoveredResourcePtr resource, NamespaceRemains& remains);
    Task<> report(Namespace& space, const client::Discovery& discovery, const NamespaceRemains& remains);
    Task<> finalize(Namespace space);

    client::Client& client_;
    client::Informer<Namespace>& namespaces_;
};

}  // namespace porthole::controllers
