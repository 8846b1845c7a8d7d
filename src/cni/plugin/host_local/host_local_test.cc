#include "cni/plugin/host_local/host_local.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "cni/plugin/errors.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::cni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NoLocks final : public FileLocks {
public:
    Result<std::unique_ptr<FileLock>> lock(const std::string&) override { return std::unique_ptr<FileLock>(); }
};

/// Fails the n-th change.
class FailingFiles final : public FileSystem {
public:
    explicit FailingFiles(FileSystem& inner) : inner_(inner) {}
    int changes_left = -1;

    Result<std::string> read(const std::string& path, std::size_t limit) override { return inner_.read(path, limit); }
    Result<std::string> read_at(const std::string& p, std::uint64_t o, std::size_t c) override { return inner_.read_at(p, o, c); }
    Result<void> write(const std::string& path, std::string_view contents, std::uint32_t mode) override {
        TRY_VOID(spend());
        return inner_.write(path, contents, mode);
    }
    Result<void> replace(const std::string& path, std::string_view contents, std::uint32_t mode) override {
        TRY_VOID(spend());
        return inner_.replace(path, contents, mode);
    }
    Result<void> create_directories(const std::string& path, std::uint32_t mode) override { return inner_.create_directories(path, mode); }
    Result<void> remove(const std::string& path) override { return inner_.remove(path); }
    Result<void> remove_all(const std::string& path) override { return inner_.remove_all(path); }
    Result<void> rename(const std::string& from, const std::string& to) override {
        TRY_VOID(spend());
        return inner_.rename(from, to);
    }
    Result<void> create_symlink(const std::string& t, const std::string& p) override { return inner_.create_symlink(t, p); }
    Result<std::string> read_link(const std::string& path) override { return inner_.read_link(path); }
    Result<std::string> real_path(const std::string& path) override { return inner_.real_path(path); }
    Result<FileStatus> status(const std::string& path) override { return inner_.status(path); }
    Result<FileStatus> link_status(const std::string& path) override { return inner_.link_status(path); }
    Result<std::vector<std::string>> list(const std::string& path) override { return inner_.list(path); }
    Result<void> change_mode(const std::string& p, std::uint32_t m) override { return inner_.change_mode(p, m); }
    Result<void> change_owner(const std::string& p, std::optional<std::uint32_t> u, std::optional<std::uint32_t> g) override {
        return inner_.change_owner(p, u, g);
    }
    Result<FileSystemUsage> usage(const std::string& path) override { return inner_.usage(path); }
    Result<void> restrict_to_administrators(const std::string& directory, const std::vector<std::string>& readers) override {
        return inner_.restrict_to_administrators(directory, readers);
    }

private:
    Result<void> spend() {
        if (changes_left == 0) return Error(Reason::Io, "disk full");
        if (changes_left > 0) --changes_left;
        return {};
    }
    FileSystem& inner_;
};

struct Ipam {
    sim::SimLoop loop;
    sim::MemoryFileSystem memory{loop};
    FailingFiles files{memory};
    NoLocks locks;
    HostLocal plugin{files, locks, {.data_dir = "/leases", .colons = false}};

    CniRequest request(const std::string& id, const std::string& ipam) {
        CniRequest request{.command = "ADD", .container_id = id, .interface = "eth0", .network = "cbr0", .version = "0.4.0"};
        request.config = schema::parse_json(R"({"name":"cbr0","ipam":)" + ipam + "}").value();
        return request;
    }
    Result<CniResult> try_add(const std::string& id, const std::string& ipam) { return sim::run(loop, plugin.add(request(id, ipam))); }
    std::vector<std::string> add(const std::string& id, const std::string& ipam) {
        std::vector<std::string> addresses;
        const auto result = try_add(id, ipam);
        if (!result) return {result.error().message};
        for (const auto& ip : result->ips) addresses.push_back(ip.address.to_string() + "/" + std::to_string(ip.prefix_length));
        return addresses;
    }
    void remove(const std::string& id, const std::string& ipam) { ASSERT_TRUE(sim::run(loop, plugin.remove(request(id, ipam)))); }
    std::vector<std::string> leases() {
        std::vector<std::string> names;
        for (const auto& name : memory.list("/leases/cbr0").value()) {
            if (std::isdigit(static_cast<unsigned char>(name[0]))) names.push_back(name);
        }
        return names;
    }
};

const char* const Small = R"({"type":"host-local","subnet":"10.1.2.0/29"})";

TEST(HostLocal, AnAddressIsStillTakenAfterAPowerCut) {
    Ipam ipam;
    ASSERT_THAT(ipam.add("a", Small), ElementsAre("10.1.2.2/29"));
    ipam.memory.cut_power();
    EXPECT_EQ(ipam.memory.read("/leases/cbr0/10.1.2.2").value(), "a\r\neth0");
    EXPECT_THAT(ipam.add("b", Small), ElementsAre("10.1.2.3/29"));
}

// IPM-02, IPM-08
TEST(HostLocal, IPM02_GivesAddressesUntilTheRangeIsEmpty) {
    Ipam ipam;
    EXPECT_THAT(ipam.add("a", Small), ElementsAre("10.1.2.2/29"));
    EXPECT_EQ(ipam.memory.read("/leases/cbr0/10.1.2.2").value(), "a\r\neth0");
    for (const char* id : {"b", "c", "d", "e"}) ipam.add(id, Small);
    EXPECT_THAT(ipam.add("f", Small), ElementsAre("no IP addresses available in range set: 10.1.2.1-10.1.2.6"));
    EXPECT_THAT(ipam.leases(), ElementsAre("10.1.2.2", "10.1.2.3", "10.1.2.4", "10.1.2.5", "10.1.2.6"));
}

// SEC-01: below C:\\ every user may change what a program makes
TEST(HostLocal, SEC01_LeasesAreTheAdministrators) {
    Ipam ipam;
    EXPECT_THAT(ipam.add("a", Small), ElementsAre("10.1.2.2/29"));
    EXPECT_EQ(ipam.memory.readers("/leases/cbr0"), std::set<std::string>());
}

TEST(HostLocal, NeverGivesTheGatewayAndStaysWithinItsBounds) {
    Ipam ipam;
    const char* bounded = R"({"subnet":"10.1.2.0/24","rangeStart":"10.1.2.9","rangeEnd":"10.1.2.11","gateway":"10.1.2.10"})";
    EXPECT_THAT(ipam.add("a", bounded), ElementsAre("10.1.2.9/24"));
    EXPECT_THAT(ipam.add("b", bounded), ElementsAre("10.1.2.11/24"));
    EXPECT_THAT(ipam.add("c", bounded), ElementsAre(HasSubstr("no IP addresses available")));
}

TEST(HostLocal, LetsAnAddressRestBeforeItComesAgain) {
    Ipam ipam;
    ipam.add("a", Small);
    ipam.remove("a", Small);
    EXPECT_THAT(ipam.add("b", Small), ElementsAre("10.1.2.3/29"));
    for (const char* id : {"c", "d", "e"}) ipam.add(id, Small);
    EXPECT_THAT(ipam.add("f", Small), ElementsAre("10.1.2.2/29")) << "wraps around";
}

TEST(HostLocal, GivesTheSameAddressToAnAddThatComesAgain) {
    Ipam ipam;
    ipam.add("a", Small);
    EXPECT_THAT(ipam.add("a", Small), ElementsAre("10.1.2.2/29"));
    EXPECT_EQ(ipam.leases().size(), 1u);
}

TEST(HostLocal, DeletesOnlyItsOwnAndTwice) {
    Ipam ipam;
    ipam.add("a", Small);
    ipam.add("b", Small);
    ipam.remove("a", Small);
    ipam.remove("a", Small);
    EXPECT_THAT(ipam.leases(), ElementsAre("10.1.2.3"));
}

TEST(HostLocal, KeepsTheRequestedAddress) {
    Ipam ipam;
    CniRequest request = ipam.request("a", Small);
    request.arguments["IP"] = "10.1.2.5";
    const auto result = sim::run(ipam.loop, ipam.plugin.add(request));
    ASSERT_TRUE(result);
    EXPECT_EQ(result->ips[0].address.to_string(), "10.1.2.5");
    request.container_id = "b";
    EXPECT_THAT(sim::run(ipam.loop, ipam.plugin.add(request)).error().message, HasSubstr("10.1.2.5 is not available"));
}

// IPM-09
TEST(HostLocal, IPM09_GivesOneAddressOfEachFamily) {
    Ipam ipam;
    const char* dual = R"({"ranges":[[{"subnet":"10.1.2.0/24"}],[{"subnet":"fd00:1::/64"}]],"routes":[{"dst":"0.0.0.0/0"}]})";
    EXPECT_THAT(ipam.add("a", dual), ElementsAre("10.1.2.2/24", "fd00:1::2/64"));
    EXPECT_THAT(ipam.leases(), ElementsAre("10.1.2.2"));
    EXPECT_TRUE(ipam.memory.exists("/leases/cbr0/fd00_1__2")) << "no colon in names on Windows";
    EXPECT_THAT(ipam.add("a", dual), ElementsAre("10.1.2.2/24", "fd00:1::2/64"));
    EXPECT_THAT(ipam.add("b", dual), ElementsAre("10.1.2.3/24", "fd00:1::3/64"));
}

// IPM-08
TEST(HostLocal, IPM08_LeavesNothingWhenItFails) {
    const char* dual = R"({"ranges":[[{"subnet":"10.1.2.0/24"}],[{"subnet":"10.1.3.0/24"}]]})";
    for (int changes = 0; changes < 4; ++changes) {
        SCOPED_TRACE(changes);
        Ipam ipam;
        ipam.files.changes_left = changes;
        EXPECT_FALSE(ipam.try_add("a", dual));
        EXPECT_TRUE(ipam.leases().empty());
    }
    Ipam ipam;
    EXPECT_FALSE(ipam.try_add(
        "a", R"({"ranges":[[{"subnet":"10.1.2.0/24"}],[{"subnet":"10.1.3.0/30","rangeStart":"10.1.3.1","rangeEnd":"10.1.3.1"}]]})"));
    EXPECT_TRUE(ipam.leases().empty());
}

TEST(HostLocal, RefusesRangesThatMakeNoSense) {
    const struct {
        const char* ipam;
        const char* message;
    } rows[] = {
        {R"({"subnet":"10.1.2.0/31"})", "too small"},
        {R"({"subnet":"ten"})", "subnet"},
        {R"({})", "no IP ranges specified"},
        {R"({"subnet":"10.1.2.0/24","rangeStart":"10.1.3.1"})", "rangeStart 10.1.3.1 not in network 10.1.2.0/24"},
        {R"({"subnet":"10.1.2.0/24","rangeStart":"10.1.2.9","rangeEnd":"10.1.2.3"})", "after rangeEnd"},
        {R"({"ranges":[[{"subnet":"10.1.0.0/16"}],[{"subnet":"10.1.2.0/24"}]]})", "overlaps"},
        {R"({"ranges":[[{"subnet":"10.1.0.0/16"},{"subnet":"fd00::/64"}]]})", "mixed address families"},
        {R"({"ranges":[[]]})", "empty range set"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.ipam);
        Ipam ipam;
        const auto result = ipam.try_add("a", row.ipam);
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().message, HasSubstr(row.message));
        EXPECT_EQ(code_of(result.error()), 7u);
    }
}

TEST(HostLocal, ChecksAndCollects) {
    Ipam ipam;
    ipam.add("a", Small);
    ipam.add("b", Small);
    EXPECT_TRUE(sim::run(ipam.loop, ipam.plugin.check(ipam.request("a", Small))));
    EXPECT_FALSE(sim::run(ipam.loop, ipam.plugin.check(ipam.request("x", Small))));
    CniRequest request = ipam.request("", Small);
    request.config["cni.dev/valid-attachments"] = schema::parse_json(R"([{"containerID":"b","ifname":"eth0"}])").value();
    EXPECT_TRUE(sim::run(ipam.loop, ipam.plugin.collect(request)));
    EXPECT_THAT(ipam.leases(), ElementsAre("10.1.2.3"));
}

TEST(HostLocal, TheNodeKeepsOneAddressThatNoPodGetsAndNoCollectionTakes) {
    Ipam ipam;
    ipam.add("a", Small);
    const CniRequest request = ipam.request("", Small);
    const IpPrefix range = IpPrefix::parse("10.1.2.0/24").value();
    const auto own = ipam.plugin.reserve_for_node(request.network, range);
    ASSERT_TRUE(own) << own.error().message;
    EXPECT_EQ(own->to_string(), "10.1.2.3");
    EXPECT_TRUE(sim::run(ipam.loop, ipam.plugin.collect(request)));
    EXPECT_THAT(ipam.leases(), ElementsAre("10.1.2.3"));
    EXPECT_EQ(ipam.plugin.reserve_for_node(request.network, range).value(), *own);
    ipam.add("b", Small);
    EXPECT_THAT(ipam.leases(), ElementsAre("10.1.2.3", "10.1.2.4"));
}

// IPM-06, IPM-07
TEST(HostLocal, TheNodesAddressOutlivesRestartsAndGoesWithItsRange) {
    Ipam ipam;
    const std::string network = ipam.request("", Small).network;
    const IpPrefix former = IpPrefix::parse("10.1.2.0/24").value(), now = IpPrefix::parse("10.1.7.0/24").value();
    const IpAddress reserved = ipam.plugin.reserve_for_node(network, former).value();
    HostLocal restarted(ipam.files, ipam.locks, {.data_dir = "/leases"});
    EXPECT_EQ(restarted.reserve_for_node(network, former).value(), reserved);
    const IpAddress other = restarted.reserve_for_node(network, now).value();
    EXPECT_TRUE(now.contains(other));
    EXPECT_THAT(ipam.leases(), ElementsAre(other.to_string())) << "a node that joined again under another range gives the former one back";
}

TEST(HostLocal, ProgramsAtTheSameTimeGetDifferentAddresses) {
    char folder[] = "/tmp/host-local-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < 4; ++worker) {
        threads.emplace_back([&, worker] {
            sim::SimLoop loop;
            const auto files = make_file_system();
            const auto locks = make_file_locks();
            HostLocal plugin(*files, *locks, {.data_dir = folder});
            for (int i = 0; i < 20; ++i) {
                CniRequest request{
                    .container_id = "w" + std::to_string(worker) + "-" + std::to_string(i), .interface = "eth0", .network = "n"};
                request.config = schema::parse_json(R"({"ipam":{"subnet":"10.1.2.0/24"}})").value();
                EXPECT_TRUE(sim::run(loop, plugin.add(request)));
            }
        });
    }
    threads.clear();
    const auto files = make_file_system();
    EXPECT_EQ(files->list(std::string(folder) + "/n").value().size(), 80u + 2u) << "leases, lock and last_reserved_ip.0";
    EXPECT_TRUE(files->remove_all(folder));
}

}  // namespace
}  // namespace porthole::cni
