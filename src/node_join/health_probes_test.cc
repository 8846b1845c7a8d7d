#include "node_join/health_probes.h"

#include <gtest/gtest.h>

#include <optional>

#include "runtime/sim/sim_loop.h"

namespace porthole::node_join {
namespace {

using namespace std::chrono_literals;

struct HealthProbesTest : testing::Test {
    /// Answers after `takes`, if it still exists then.
    struct Transport final : client::Transport {
        explicit Transport(HealthProbesTest& test) : test_(test) { ++test_.open; }
        ~Transport() override { --test_.open; }
        Task<client::ApiResponse> call(client::ApiRequest) override {
            ++calls;
            const auto slept = co_await test_.loop.sleep(test_.takes);
            --calls;
            CO_TRY_VOID(slept);
            co_return client::ApiResponse{.code = test_.code, .body = std::make_shared<const std::string>(test_.body)};
        }
        Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest) override { co_return Error(Reason::NotFound, "no watch"); }
        int calls = 0;

    private:
        HealthProbesTest& test_;
    };
    struct Asking {
        Asking(sim::SimLoop& loop, Task<net::ServerHealth> task) : context(loop) {
            start_task(std::move(task), context, [this](Result<net::ServerHealth> value) { answer.emplace(std::move(value)); });
            loop.run_ready();
        }
        TaskContext context;
        std::optional<Result<net::ServerHealth>> answer;
    };

    sim::SimLoop loop;
    Duration takes = 1ms;
    int code = 200, open = 0, dialed = 0;
    std::string body;
    HealthProbes probes{loop, [this](const client::ClientConfig&) -> Result<std::unique_ptr<client::Transport>> {
                            ++dialed;
                            return std::make_unique<Transport>(*this);
                        }};

    Task<net::ServerHealth> ask(const std::string& ca = "ca") { return probes.ask({.server = "https://10.0.0.1:6443", .ca_pem = ca}); }
};

TEST_F(HealthProbesTest, KeepsAConnectionUntilTheAuthorityChanges) {
    EXPECT_TRUE(sim::run(loop, ask()));
    EXPECT_TRUE(sim::run(loop, ask()));
    EXPECT_EQ(dialed, 1);
    EXPECT_TRUE(sim::run(loop, ask("other")));
    EXPECT_EQ(dialed, 2);
    EXPECT_EQ(open, 1);
}

TEST_F(HealthProbesTest, TellsWhatAServersAnswerMeans) {
    using net::ServerHealth;
    const struct {
        const char* name;
        int code;
        const char* body;
        ServerHealth health;
    } rows[] = {
        {"ready", 200, "ok", ServerHealth::Ready},
        {"wants credentials", 403, "", ServerHealth::Ready},
        {"begins", 500, "[+]ping ok\n[+]etcd-readiness ok\n[-]poststarthook/bootstrap failed: reason withheld\n", ServerHealth::NotReady},
        {"ends, upstream", 500, "[+]ping ok\n[+]etcd ok\n[-]shutdown failed: reason withheld\n", ServerHealth::NotReady},
        {"has lost its etcd", 500, "[+]ping ok\n[-]etcd-readiness failed: reason withheld\n", ServerHealth::Failing},
        {"has lost its etcd, upstream", 500, "[+]ping ok\n[-]etcd failed: reason withheld\n", ServerHealth::Failing},
        {"says nothing more", 503, "", ServerHealth::NotReady},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        code = row.code;
        body = row.body;
        EXPECT_EQ(sim::run(loop, ask()).value(), row.health);
    }
}

TEST_F(HealthProbesTest, AnAnswerThatDoesNotComeLeavesOthersTheirConnection) {
    takes = 1h;
    Asking first(loop, ask());
    loop.advance(1s);
    Asking second(loop, ask());  // of the same server, which was forgotten and is listed again
    loop.advance(1500ms);
    ASSERT_TRUE(first.answer);
    EXPECT_FALSE(first.answer->has_value());
    EXPECT_FALSE(second.answer);
    EXPECT_EQ(open, 1) << "the second one still asks over it";
    Asking third(loop, ask());
    EXPECT_EQ(dialed, 2);
    loop.advance(1s);
    ASSERT_TRUE(second.answer);
    EXPECT_EQ(probes.connections(), 1U) << "that of the third one";
    loop.advance(2s);
    EXPECT_EQ(open, 0);
}

TEST_F(HealthProbesTest, ConnectionsToServersThatAreGoneAreClosed) {
    EXPECT_TRUE(sim::run(loop, ask()));
    probes.keep_only({{.name = "https://10.0.0.1:6443"}});
    EXPECT_EQ(open, 1);
    takes = 1s;
    Asking asking(loop, ask());
    probes.keep_only({{.name = "https://10.0.0.2:6443"}});
    EXPECT_EQ(open, 1) << "it is being asked";
    loop.advance(2s);
    ASSERT_TRUE(asking.answer && asking.answer->has_value());
    EXPECT_EQ(open, 0);
    EXPECT_EQ(probes.connections(), 0U);
}

}  // namespace
}  // namespace porthole::node_join
