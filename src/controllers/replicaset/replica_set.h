#pragma once
#include "controllers/replicaset/replica_controller.h"

namespace porthole::controllers {

/// Keeps the wanted number of pods of a ReplicaSet's template.
class ReplicaSetController final : public ReplicaController {
public:
    static constexpr const char* Account = "replicaset-controller";
    explicit ReplicaSetController(Context& context);

private:
    std::shared_ptr<const ReplicaSet> find(const client::NamespacedName& key) const override { return sets_.find(key); }
    std::vector<std::shared_ptr<const ReplicaSet>> list(const std::string& namespace_) const override { return sets_.list(namespace_); }
    Task<> write_status(ReplicaSet set) override;
    Task<ReplicaSet> read(client::NamespacedName key) override { return context_.client.get<ReplicaSet>(std::move(key)); }
    std::vector<PodPointer> related_pods(const ReplicaSet& set) const override;

    client::Informer<ReplicaSet>& sets_;
    OwnerIndex<ReplicaSet> siblings_;
    PodOwnerIndex pods_;
};

}  // namespace porthole::controllers
