#include "hns/dll/load_hns.h"

namespace porthole::hns {
namespace {

/// What a machine without the service has in its place.
class AbsentHns final : public Hns {
public:
    explicit AbsentHns(Error why) : why_(std::move(why)) {}

    Task<std::string> enumerate(ObjectKind, std::string) override { co_return why_; }
    Task<std::string> create(ObjectKind, std::string, std::string) override { co_return why_; }
    Task<std::string> query(ObjectKind, std::string, std::string) override { co_return why_; }
    Task<> modify(ObjectKind, std::string, std::string) override { co_return why_; }
    Task<> remove(ObjectKind, std::string) override { co_return why_; }
    Task<std::string> call_v1(std::string, std::string, std::string) override { co_return why_; }
    Task<> subscribe(std::function<void(const Notification&)>) override { co_return why_; }

private:
    Error why_;
};

}  // namespace

std::unique_ptr<Hns> own_hns(EventLoop& loop, WorkerPool& pool) {
    auto loaded = load_hns(loop, pool);
    if (loaded) return *std::move(loaded);
    return std::make_unique<AbsentHns>(std::move(loaded).error());
}

}  // namespace porthole::hns
