#include "hns/hns.h"

#include <gtest/gtest.h>

#include "hns/hresult.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::hns {
namespace {

/// Makes objects named as their settings, but for those that are the name of a failure.
class NamingHns final : public Hns {
public:
    Task<std::string> create(ObjectKind, std::string parent, std::string settings) override {
        asked.push_back(parent + "/" + settings);
        if (settings == "refused") co_return hresult_error(Hresult::InvalidIp);
        if (settings == "unanswered") co_return hresult_error(Hresult::RpcServerUnavailable);
        co_return "id of " + settings;
    }
    Task<std::string> enumerate(ObjectKind, std::string) override { co_return std::string(); }
    Task<std::string> query(ObjectKind, std::string, std::string) override { co_return std::string(); }
    Task<> modify(ObjectKind, std::string, std::string) override { co_return {}; }
    Task<> remove(ObjectKind, std::string) override { co_return {}; }
    Task<std::string> call_v1(std::string, std::string, std::string) override { co_return std::string(); }
    Task<> subscribe(std::function<void(const Notification&)>) override { co_return {}; }

    std::vector<std::string> asked;
};

std::vector<std::string> create(NamingHns& hns, std::vector<std::string> settings) {
    sim::SimLoop loop;
    const auto made = sim::run(loop, hns.create_all(ObjectKind::Endpoint, "net", std::move(settings)));
    EXPECT_TRUE(made);
    std::vector<std::string> lines;
    for (const auto& id : *made) lines.push_back(id ? *id : hresult_name(hresult_of(id.error())));
    return lines;
}

TEST(Hns, CreateAllYieldsWhatEachYields) {
    NamingHns hns;
    EXPECT_EQ(create(hns, {"a", "refused", "b"}), (std::vector<std::string>{"id of a", "HCN_E_INVALID_IP", "id of b"}));
    EXPECT_EQ(hns.asked, (std::vector<std::string>{"net/a", "net/refused", "net/b"}));
    EXPECT_TRUE(create(hns, {}).empty());
}

TEST(Hns, CreateAllAsksAServiceThatDoesNotAnswerNoMore) {
    NamingHns hns;
    const std::string code = hresult_name(Hresult::RpcServerUnavailable);
    EXPECT_EQ(create(hns, {"a", "unanswered", "b", "c"}), (std::vector<std::string>{"id of a", code, code, code}));
    EXPECT_EQ(hns.asked, (std::vector<std::string>{"net/a", "net/unanswered"}));
}

}  // namespace
}  // namespace porthole::hns
