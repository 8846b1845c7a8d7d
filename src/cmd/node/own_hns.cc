#include "cmd/network/own_hns.h"

namespace porthole::cmd {
namespace {

/// What a machine without the service has in its place.
class AbsentHns final : public hns::Hns {
public:
    explicit AbsentHns(Error why) : why_(std::move(why)) {}

    Task<std::string> enumerate(hns::ObjectKind, std::string) override { co_return why_; }
    Task<std::string> create(hns::ObjectKind, std::string, std::string) override { co_return why_; }
    Task<std::string> query(hns::ObjectKind, std::string, std::string) override { co_return why_; }
    Task<> modify(hns::ObjectKind, std::string, std::string) override { co_return why_; }
    Task<> remove(hns::ObjectKind, std::string) override { co_return why_; }
    Task<std::string> call_v1(std::string, std::string, std::string) override { co_return why_; }
    Task<> subscribe(std::function<void(const hns::Notification&)>) override { co_return why_; }

private:
    Error why_;
};

}  // namespace

std::unique_ptr<hns::Hns> own_hns(EventLoop& loop, WorkerPool& pool) {
    auto loaded = hns::load_hns(loop, pool);
    if (loaded) return *std::move(loaded);
    return std::make_unique<AbsentHns>(std::move(loaded).error());
}

}  // namespace porthole::cmd
