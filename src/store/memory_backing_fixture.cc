#include "store/store_fixture.h"

namespace porthole::store {
namespace {

class MemoryBacking final : public StoreBacking {
public:
    explicit MemoryBacking(MemoryDisk& disk) : disk_(disk) {}
    Result<std::unique_ptr<Store>> open(Store::Seams seams, AttributesOf attributes_of, const Store::Options& options) override {
        return Store::open(std::move(seams), std::make_unique<MemoryEngine>(disk_), std::move(attributes_of), options);
    }
    void disturb(Random& random) override { disk_.fail_next(MemoryDisk::Fault::Full, 1 + random.below(2)); }
    void crash(Random& random) override { disk_.crash(random); }

private:
    MemoryDisk& disk_;
};

}  // namespace

std::unique_ptr<StoreBacking> make_store_backing(sim::SimLoop&, MemoryDisk& disk) { return std::make_unique<MemoryBacking>(disk); }

}  // namespace porthole::store
