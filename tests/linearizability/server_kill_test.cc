// Concurrent clients of the real server, over TLS, which is killed with signal 9 and started again.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "linearizability/workload.h"
#include "local_cluster/admin_client.h"
#include "runtime/run_task.h"

namespace porthole::linearizability {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// From here on this process has a network of its own, with nothing but a loopback device. False where that is not allowed.
bool enter_own_network() {
    if (::unshare(CLONE_NEWNET) != 0) return false;
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    const bool up = ::ioctl(socket, SIOCSIFFLAGS, &request) == 0;
    ::close(socket);
    return up;
}

class KilledServer : public testing::Test {
protected:
    KilledServer() {
        std::string name = testing::TempDir() + "/killed-XXXXXX";
        data_ = ::mkdtemp(name.data());
    }
    ~KilledServer() override {
        kill_server();
        fs::remove_all(data_);
    }

    void start_server() {
        server_ = ::fork();
        if (server_ != 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int log = ::open((data_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(log, STDOUT_FILENO);
        ::dup2(log, STDERR_FILENO);
        const std::string data = data_.string();
        ::execl(PORTHOLE_PROGRAM, "porthole", "server", "--data", data.c_str(), "--bind-address", "127.0.0.1", "--advertise-address",
                "127.0.0.1", nullptr);
        ::_exit(127);
    }
    void kill_server() {
        if (server_ <= 0) return;
        ::kill(server_, SIGKILL);
        ::waitpid(server_, nullptr, 0);
        server_ = 0;
    }

    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop_, std::move(task));
    }
    /// A client of the server, once that is ready for the first time.
    std::unique_ptr<local_cluster::AdminClient> connect() {
        for (int i = 0; i < 2400; ++i) {
            if (auto admin = local_cluster::connect_as_admin(loop_, "", data_.string())) {
                if (run((*admin)->client.get_raw("/readyz"))) return std::move(*admin);
            }
            (void)run(loop_.sleep(50ms)).has_value();
        }
        return nullptr;
    }
    /// Waits for another hundred answers, which take as long as the machine is slow.
    bool answers_more(const Workload& workload) {
        const std::size_t wanted = workload.done() + 100;
        for (int i = 0; i < 2400 && workload.done() < wanted; ++i) EXPECT_TRUE(run(loop_.sleep(50ms)));
        return workload.done() >= wanted;
    }
    std::string log() const {
        std::ifstream file(data_ / "log");
        return {std::istreambuf_iterator<char>(file), {}};
    }

    fs::path data_;
    pid_t server_ = 0;
    AsioLoop loop_;
    SystemRandom random_;
};

TEST_F(KilledServer, LeavesALinearizableHistory) {
    if (!enter_own_network()) GTEST_SKIP() << "a network of its own is not allowed here";
    start_server();
    const auto admin = connect();
    ASSERT_TRUE(admin) << log();
    {
        Workload workload(loop_, admin->client, random_, {.writers = 4, .watchers = 2});
        workload.start();
        for (int kill = 0; kill < 3; ++kill) {
            ASSERT_TRUE(answers_more(workload)) << log();
            ASSERT_TRUE(run(loop_.sleep(std::chrono::milliseconds(random_.below(500)))));
            kill_server();
            start_server();
        }
        ASSERT_TRUE(answers_more(workload)) << log();
        const auto finished = run(workload.finish());
        ASSERT_TRUE(finished) << finished.error().message << "\n" << log();
        EXPECT_EQ(find_violation(workload.history()), "") << log();
        std::size_t events = 0;
        for (const Watch& watch : workload.history().watches) events += watch.events.size();
        std::printf("%zu answers, %zu events\n", workload.done(), events);
        EXPECT_GT(workload.done(), 100u);
        EXPECT_GT(events, 50u);
    }
}

}  // namespace
}  // namespace porthole::linearizability
