#include "store/etcd/etcd_store.h"
#include "store/etcd/plain_form_fixture.h"
#include "store/etcd/sim/etcd_model.h"
#include "store/store_fixture.h"

namespace porthole::store {
namespace {

class EtcdBacking final : public StoreBacking {
public:
    explicit EtcdBacking(sim::SimLoop& loop) : loop_(loop), model_(loop, 3, 0) {}
    ~EtcdBacking() override {
        CHECK(sim::run(loop_, model_.close()).has_value());
        loop_.run_ready();
    }
    Result<std::unique_ptr<Store>> open(Store::Seams seams, AttributesOf attributes_of, const Store::Options& options) override {
        return sim::run(loop_, etcd::open_etcd_store(std::move(seams), model_.members(), std::make_shared<etcd::PlainForm>(),
                                                     std::move(attributes_of), {.history = options, .compact_every = {}}));
    }
    void disturb(Random& random) override {
        model_.fragment_at(1 + random.below(4));
        model_.cut();
    }
    void crash(Random&) override { model_.compact(model_.revision()); }

private:
    sim::SimLoop& loop_;
    etcd::EtcdModel model_;
};

}  // namespace

std::unique_ptr<StoreBacking> make_store_backing(sim::SimLoop& loop, MemoryDisk&) { return std::make_unique<EtcdBacking>(loop); }

}  // namespace porthole::store
