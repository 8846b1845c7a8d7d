#include "winhost/host/iscsi_targets.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "runtime/files/loop_devices.h"
#include "runtime/files/mounts.h"
#include "runtime/sim/sim_loop.h"
#include "winhost/host/iscsi_portal.h"
#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t UnitBytes = 32 << 20;
const std::string Disk = "iqn.2026-11.example:disk", Other = "iqn.2026-11.example:other";

/// A machine's iscsiadm, iscsid, kernel and target in one: records and sysfs are in `machine`, a unit is the file `unit`, which a session
/// shows as a "device" of /dev. Other programs are the machine's own.
struct FakeOpenIscsi final : ProcessRunner {
    FakeOpenIscsi(const TestFolder& machine, WorkerPool& pool) : machine(machine), real(make_process_runner(pool)) {}

    Task<CommandOutput> run(Command command) override {
        if (!command.arguments[0].ends_with("/iscsiadm")) return real->run(std::move(command));
        calls.push_back(join(command.arguments, " "));
        namespaces.push_back(command.network_namespace);
        return answer(std::move(command.arguments));
    }

    Task<CommandOutput> answer(std::vector<std::string> words) {
        for (const auto& [part, code] : failures)
            if (calls.back().contains(part)) co_return CommandOutput{.exit_code = code, .errors = "iscsiadm: as told\n"};
        const std::string mode = words[2], last = words.back(), interface = value(words, "-I");
        if (mode == "iface" && last == "new") machine.write("etc/iscsi/ifaces/" + interface, "");
        if (mode == "iface" && last == "delete") fs::remove(machine / ("etc/iscsi/ifaces/" + interface));
        if (mode == "discovery") co_return CommandOutput{.output = offered};
        if (mode == "node")
            co_return on_record(record_of(value(words, "-T"), value(words, "-p"), interface), last, value(words, "-T"), interface);
        if (mode == "session" && last == "--logout") remove_session(value(words, "-r"));
        if (mode == "session" && last == "--rescan") show_size(value(words, "-r"));
        co_return CommandOutput{};
    }

    CommandOutput on_record(const std::string& path, const std::string& last, const std::string& target, const std::string& interface) {
        if (last == "new") machine.write(path, "# BEGIN RECORD 2.1.8\nnode.session.auth.password = the machine's\n# END RECORD\n");
        if (last == "delete") return {.exit_code = fs::remove(machine / path) ? 0 : 21};
        if (last != "--login") return {};
        record = machine.read(path);
        for (const std::string& line : demanded)
            if (!record.contains(line + "\n")) return {.exit_code = 24, .errors = "iscsiadm: initiator reported error (24)\n"};
        add_session(target, interface);
        return {};
    }

    static std::string value(const std::vector<std::string>& words, const std::string& name) {
        const auto found = std::ranges::find(words, name);
        return found == words.end() ? "" : *(found + 1);
    }
    static std::string record_of(const std::string& target, std::string portal, const std::string& interface) {
        std::ranges::replace(portal, ':', ',');
        return "etc/iscsi/nodes/" + target + "/" + portal + "/" + interface;
    }

    std::string add_session(const std::string& target, const std::string& interface, const std::string& lun = "1") {
        const std::string id = std::to_string(++last_session), session = "sys/class/iscsi_session/session" + id;
        machine.write(session + "/targetname", target + "\n");
        machine.write(session + "/ifacename", interface + "\n");
        machine.write(session + "/state", "LOGGED_IN\n");
        machine.write("sys/class/iscsi_connection/connection" + id + ":0/persistent_address", "10.0.0.9\n");
        machine.write("sys/class/iscsi_connection/connection" + id + ":0/persistent_port", "3260\n");
        const std::string block = block_of(id, lun);
        machine.write(block + "/dev", "8:" + id + "\n");
        machine.write(block + "/queue/logical_block_size", "512\n");
        fs::create_directories(machine / (block + "/holders"));
        machine.write(block + "/device/wwid", "naa.6001405\n");
        machine.write(block + "/device/vpd_pg80", std::string("\0\x80\0\x06", 4) + "beaf\n1");
        fs::create_directories(machine / "dev");
        if (!fs::exists(machine / "unit")) machine.write("unit", "");
        if (fs::file_size(machine / "unit") == 0) fs::resize_file(machine / "unit", UnitBytes);
        fs::create_hard_link(machine / "unit", machine / ("dev/sd" + id));
        show_size(id);
        return id;
    }
    static std::string block_of(const std::string& id, const std::string& lun = "1") {
        return "sys/class/iscsi_session/session" + id + "/device/target" + id + ":0:0/" + id + ":0:0:" + lun + "/block/sd" + id;
    }
    void show_size(const std::string& id) {
        machine.write(block_of(id) + "/size", std::to_string(fs::file_size(machine / "unit") / 512) + "\n");
    }
    void remove_session(const std::string& id) {
        fs::remove_all(machine / ("sys/class/iscsi_session/session" + id));
        fs::remove_all(machine / ("sys/class/iscsi_connection/connection" + id + ":0"));
        fs::remove(machine / ("dev/sd" + id));
    }
    long count(const std::string& part) const {
        return std::ranges::count_if(calls, [&](const std::string& call) { return call.contains(part); });
    }

    const TestFolder& machine;
    std::unique_ptr<ProcessRunner> real;
    std::vector<std::string> calls, namespaces;
    std::vector<std::pair<std::string, int>> failures;  ///< exit codes by a part of the words
    std::string offered = "10.0.0.9:3260,1 " + Disk + "\n[fd00::9]:3260,2 " + Disk + "\n10.0.0.9:3260,1 " + Other + "\n";
    std::vector<std::string> demanded;  ///< lines of the record, or the login fails
    std::string record;                 ///< at the last login
    int last_session = 0;
};

/// Two hosts on one machine, of which one is asked.
struct IscsiTargetsTest : testing::Test {
    IscsiTargetsTest() {
        for (const std::string path : {"root/wine/drive_c/var/lib/kubelet/staged", "disks"}) fs::create_directories(folder / path);
        machine.write("sbin/iscsiadm", "");
    }
    ~IscsiTargetsTest() override { EXPECT_TRUE(unmount_below(folder.path())); }

    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    IscsiInitiator::Services services(const std::string& host) {
        return {.programs = programs,
                .files = *files,
                .host = host + "-0123abcd",
                .name = host,
                .machine = machine.path(),
                .hold = [this](const std::string& path, const std::string&) -> Result<std::shared_ptr<const void>> {
                    held.push_back(path);
                    if (!hold_problem.empty()) return Error(Reason::Conflict, hold_problem);
                    return std::make_shared<int>();
                }};
    }
    std::unique_ptr<LoopVolumes> make_volumes() {
        return std::make_unique<LoopVolumes>(LoopVolumes::Services{
            pool, programs, random, folder / "disks", {*files, *links, folder / "root", folder / "own", ContainerUsers()}, &initiator});
    }
    std::unique_ptr<IscsiTargets> make_targets() {
        return std::make_unique<IscsiTargets>(IscsiTargets::Services{loop, *files, initiator, *volumes, folder / "iscsi"});
    }
    Result<void> connect(const std::string& target = Disk, csi_proxy::Iscsi::Login login = {}) {
        TRY_VOID(run(targets->add_portal(portal)));
        return run(targets->connect(portal, target, std::move(login)));
    }
    static csi_proxy::Iscsi::Login chap(csi_proxy::Iscsi::Chap kind, const std::string& secret = "secret-word-1") {
        return {.chap = kind, .user = "me", .secret = secret};
    }
    std::vector<std::string> disks_of_host() {
        std::vector<std::string> names;
        for (const AttachedDisk& disk : run(volumes->attached()).value()) names.push_back(disk.name);
        return names;
    }
    std::vector<csi_proxy::DiskNumber> disks(const std::string& target = Disk) { return run(targets->disks_of(portal, target)).value(); }

    TestFolder folder, machine;
    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    FakeOpenIscsi programs{machine, pool};
    std::unique_ptr<FileSystem> files = make_file_system();
    SeededRandom random{1};
    std::vector<std::string> held;
    std::string hold_problem;
    IscsiInitiator initiator{services("windows-1")};
    std::unique_ptr<CsiFiles> links = make_csi_files(folder / "root");
    std::unique_ptr<LoopVolumes> volumes = make_volumes();
    std::unique_ptr<IscsiTargets> targets = make_targets();
    const csi_proxy::Iscsi::Portal portal{"10.0.0.9", 3260};
    const std::string staged = "C:\\var\\lib\\kubelet\\staged";
};

// EMU-10, STO-24
TEST_F(IscsiTargetsTest, ADiskIsConnectedWithAPasswordThatNoProgramShows) {
    programs.demanded = {"node.session.auth.authmethod = CHAP", "node.session.auth.username = me",
                         "node.session.auth.password = secret-word-1", "node.startup = manual"};
    const auto connected = connect(Disk, chap(csi_proxy::Iscsi::Chap::OneWay));
    ASSERT_TRUE(connected) << connected.error().message;
    EXPECT_EQ(programs.count("secret"), 0) << "others on the machine see the words of a program";
    EXPECT_EQ(programs.count("-n iface.initiatorname -v iqn.1991-05.com.microsoft:windows-1"), 1);
    EXPECT_EQ(programs.count("-I porthole-windows-1-0123abcd --login"), 1);
    for (const std::string& one : programs.namespaces) EXPECT_EQ(one, "/proc/1/ns/net") << "where iscsid listens";
    EXPECT_EQ(disks(), std::vector<csi_proxy::DiskNumber>{1});
    EXPECT_TRUE(disks(Other).empty());
    const auto listed = run(volumes->list()).value();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].location, "Integrated : Adapter 1 : Port 0 : Target 1 : LUN 1");
    EXPECT_EQ(listed[0].unique_id, "naa.6001405");
    EXPECT_EQ(listed[0].serial_number, "beaf1") << "without what a target must not put into it";
    EXPECT_EQ(run(volumes->size(1)).value(), static_cast<std::int64_t>(UnitBytes));
    EXPECT_EQ(connect(Disk).error().message, "The target has already been logged in via an iSCSI session.");
    ASSERT_TRUE(run(targets->disconnect(portal, Disk)));
    EXPECT_TRUE(disks().empty());
    EXPECT_TRUE(run(volumes->list()).value().empty());
    EXPECT_FALSE(fs::exists(machine / "etc/iscsi/nodes/iqn.2026-11.example:disk/10.0.0.9,3260,1/porthole-windows-1-0123abcd"))
        << "the password";
    EXPECT_TRUE(run(targets->disconnect(portal, Disk))) << "repeated";
    programs.demanded.clear();
    ASSERT_TRUE(connect()) << "without a password, also if the machine has one";
    EXPECT_TRUE(programs.record.contains("authmethod = None\n")) << programs.record;
    EXPECT_FALSE(programs.record.contains("the machine's")) << programs.record;
}

TEST_F(IscsiTargetsTest, ItsVolumeKeepsItsFilesUntilItIsConnectedAgain) {
    if (::geteuid() != 0 || ::access("/dev/loop-control", R_OK | W_OK) != 0) GTEST_SKIP() << "needs root and loop devices";
    const fs::path seen = folder / "root/wine/drive_c/var/lib/kubelet/staged";
    ASSERT_TRUE(connect());
    ASSERT_TRUE(run(volumes->partition(1)));
    const std::string volume = run(volumes->list(1, 0)).value().at(0);
    const auto formatted = run(volumes->format(volume));
    ASSERT_TRUE(formatted) << formatted.error().message;
    ASSERT_TRUE(run(volumes->mount(volume, staged)));
    std::ofstream(seen / "file") << "kept";
    const auto refused = run(targets->disconnect(portal, Disk));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "a volume of disk iqn.2026-11.example:disk,1 is mounted at " + staged);
    EXPECT_EQ(programs.count("--logout"), 0);
    ASSERT_TRUE(run(volumes->unmount(volume, staged)));
    ASSERT_TRUE(run(targets->disconnect(portal, Disk)));
    EXPECT_FALSE(run(volumes->mount(volume, staged)));
    fs::resize_file(machine / "unit", 2 * UnitBytes);
    ASSERT_TRUE(connect());
    ASSERT_TRUE(run(volumes->rescan()));
    EXPECT_EQ(programs.count("-r 2 --rescan"), 1);
    ASSERT_TRUE(run(volumes->mount(volume, staged)));
    EXPECT_TRUE(fs::exists(seen / "file"));
    ASSERT_TRUE(run(volumes->resize(volume, 0)));
    EXPECT_GT(run(volumes->stats(volume)).value().total, static_cast<std::int64_t>(UnitBytes));
    ASSERT_TRUE(run(volumes->unmount(volume, staged)));
    ASSERT_TRUE(run(targets->disconnect(portal, Disk)));
}

// Sessions of the machine and of another host, also with the same target, are nothing to this host.
TEST_F(IscsiTargetsTest, OnlyItsOwnSessionsAreItsDisksAndEndWithTheHost) {
    const std::string of_machine = programs.add_session(Other, "default");
    IscsiInitiator neighbor{services("windows-2")};
    const std::string of_neighbor = programs.add_session(Disk, "porthole-windows-2-0123abcd");
    EXPECT_TRUE(disks_of_host().empty());
    ASSERT_TRUE(connect());
    EXPECT_EQ(disks_of_host(), std::vector<std::string>{"iqn.2026-11.example:disk,1"});
    for (const std::string& path : held) EXPECT_EQ(path, machine / "dev/sd3") << "no other device is opened";
    programs.machine.write("etc/iscsi/nodes/" + Other + "/10.0.0.9,3260,1/default", "");
    programs.machine.write("etc/iscsi/nodes/" + Other + "/10.0.0.9,3260,1/porthole-windows-1-0123abcd", "of a login that a crash ended");
    ASSERT_TRUE(run(initiator.end()));
    EXPECT_EQ(programs.count("--logout"), 1);
    EXPECT_EQ(programs.count("-r 3 --logout"), 1);
    EXPECT_FALSE(fs::exists(machine / ("etc/iscsi/nodes/" + Other + "/10.0.0.9,3260,1/porthole-windows-1-0123abcd")));
    EXPECT_TRUE(fs::exists(machine / ("etc/iscsi/nodes/" + Other + "/10.0.0.9,3260,1/default")));
    EXPECT_TRUE(fs::is_empty(machine / "etc/iscsi/ifaces"));
    EXPECT_EQ(neighbor.sessions().size(), 1U);
    const auto calls = programs.calls.size();
    ASSERT_TRUE(run(initiator.end()));
    EXPECT_EQ(programs.calls.size(), calls) << "nothing is left to do";
}

TEST_F(IscsiTargetsTest, TheNextEmulationKnowsItsPortalsAndSessions) {
    ASSERT_TRUE(connect());
    IscsiInitiator next{services("windows-1")};
    LoopVolumes next_volumes(
        {pool, programs, random, folder / "disks", {*files, *links, folder / "root", folder / "own", ContainerUsers()}, &next});
    IscsiTargets next_targets({loop, *files, next, next_volumes, folder / "iscsi"});
    ASSERT_EQ(run(next_targets.portals()).value().size(), 1U);
    EXPECT_EQ(run(next_targets.disks_of(portal, Disk)).value(), std::vector<csi_proxy::DiskNumber>{1});
    ASSERT_TRUE(run(next_targets.disconnect(portal, Disk)));
    ASSERT_TRUE(run(next_targets.remove_portal(portal)));
    EXPECT_TRUE(run(next_targets.portals()).value().empty());
    EXPECT_EQ(run(next_targets.discover(portal)).error().message, "this host has no iSCSI portal 10.0.0.9:3260");
}

TEST_F(IscsiTargetsTest, TargetsProveWhoTheyAreByTheMutualSecret) {
    EXPECT_EQ(connect(Disk, chap(csi_proxy::Iscsi::Chap::Mutual)).error().reason, Reason::Conflict) << "no secret is set";
    ASSERT_TRUE(run(targets->set_mutual_secret("mutual-word-1")));
    programs.demanded = {"node.session.auth.username_in = " + Disk, "node.session.auth.password_in = mutual-word-1"};
    ASSERT_TRUE(connect(Disk, chap(csi_proxy::Iscsi::Chap::Mutual)));
    EXPECT_EQ(programs.count("mutual-word"), 0);
}

TEST_F(IscsiTargetsTest, ATargetIsDiscoveredOnceAndLoggedInToOnlyWhereItWasAskedFor) {
    ASSERT_TRUE(run(targets->add_portal(portal)));
    EXPECT_EQ(run(targets->discover(portal)).value(), (std::vector<std::string>{Disk, Other}));
    EXPECT_EQ(programs.count("-o nonpersistent"), 2) << "nothing is left in the machine's records";
    programs.offered = "127.0.0.1:3260,1 " + Disk + "\n10.0.0.8:3260,1 " + Disk + "\n";
    EXPECT_EQ(connect().error().message, "the portal 10.0.0.9:3260 does not offer the target " + Disk);
    EXPECT_EQ(programs.count("--login"), 0);
}

TEST_F(IscsiTargetsTest, ALoginThatFailsLeavesNoRecord) {
    programs.demanded = {"node.session.auth.password = another-word-1"};
    const auto failed = connect(Disk, chap(csi_proxy::Iscsi::Chap::OneWay));
    EXPECT_TRUE(failed.error().message.contains("initiator reported error (24)")) << failed.error().message;
    EXPECT_FALSE(failed.error().message.contains("secret-word"));
    EXPECT_TRUE(fs::is_empty(machine / ("etc/iscsi/nodes/" + Disk + "/10.0.0.9,3260,1")));
}

// What a driver sends becomes arguments, paths and lines of records.
TEST_F(IscsiTargetsTest, HostileInputReachesNoProgram) {
    for (const std::string address : {"127.0.0.1",   "127.1.2.3", "0.0.0.0",   "169.254.169.254",    "224.0.0.1",
                                      "::1",         "::",        "fe80::1",   "fe80::1%eth0",       "::ffff:127.0.0.1",
                                      "::127.0.0.1", "ff02::1",   "localhost", "target.example.com", "10.0.0.9 -o",
                                      "-I",          "",          "[",         "10.0.0.9,1",         "10.0.0.9\n",
                                      "0x7f000001",  "10.9"}) {
        EXPECT_EQ(run(targets->add_portal({address, 3260})).error().reason, Reason::BadRequest) << address;
        EXPECT_EQ(run(targets->connect({address, 3260}, Disk, {})).error().reason, Reason::BadRequest) << address;
    }
    ASSERT_TRUE(run(targets->add_portal(portal)));
    const auto calls = programs.calls.size();
    for (const std::string target : {"iqn.a/../../default", "iqn.a\n", "-T", "iqn.a b", "iqn.\xc3\xa4", ""})
        EXPECT_EQ(run(targets->connect(portal, target, {})).error().reason, Reason::BadRequest) << target;
    for (const std::string secret : {"short", "seventeen-letters", "word\nnode.startup", " secret-word-1", ""}) {
        EXPECT_EQ(run(targets->connect(portal, Disk, chap(csi_proxy::Iscsi::Chap::OneWay, secret))).error().reason, Reason::BadRequest)
            << secret;
        EXPECT_EQ(run(targets->set_mutual_secret(secret)).error().reason, Reason::BadRequest) << secret;
    }
    for (const std::string& user : {std::string("me\nnode.startup = automatic"), std::string(224, 'x')})
        EXPECT_EQ(run(targets->connect(portal, Disk, {.chap = csi_proxy::Iscsi::Chap::OneWay, .user = user, .secret = "secret-word-1"}))
                      .error()
                      .reason,
                  Reason::BadRequest);
    EXPECT_EQ(run(targets->connect(portal, Disk, {.multipath = true})).error().reason, Reason::MethodNotAllowed);
    EXPECT_EQ(programs.calls.size(), calls);
    EXPECT_EQ(portal_text({"[FD00:0::9]", 3260}).value(), "[fd00::9]:3260");
    EXPECT_EQ(parse_portal("[fd00::9]:3260").address, "fd00::9");
}

TEST_F(IscsiTargetsTest, ADeviceThatIsNotTheUnitsOrThatTheMachineUsesIsNotTouched) {
    ASSERT_TRUE(connect());
    hold_problem = "/dev/sd1 is not the block device 8:1";
    EXPECT_EQ(run(volumes->partition(1)).error().message, "disk iqn.2026-11.example:disk,1: /dev/sd1 is not the block device 8:1");
    hold_problem.clear();
    machine.write(programs.block_of("1") + "/sd11/holders/dm-0", "");
    EXPECT_EQ(run(volumes->partition(1)).error().message,
              "disk iqn.2026-11.example:disk,1: the machine that emulates this host uses it for dm-0");
    fs::remove_all(machine / (programs.block_of("1") + "/sd11"));
    machine.write("sys/class/iscsi_session/session1/state", "FAILED\n");
    held.clear();
    EXPECT_EQ(run(volumes->partition(1)).error().message, "disk iqn.2026-11.example:disk,1: its iSCSI session is interrupted (FAILED)");
    EXPECT_TRUE(held.empty()) << "opening it could take minutes";
    machine.write("sys/class/iscsi_session/session1/state", "LOGGED_IN\n");
    EXPECT_TRUE(run(volumes->partition(1)));
}

TEST_F(IscsiTargetsTest, ADeviceIsOpenedOnlyIfItHasItsNumber) {
    EXPECT_FALSE(hold_block_device("/dev/null", "1:3")) << "no block device";
    if (::geteuid() != 0 || ::access("/dev/loop-control", R_OK | W_OK) != 0) GTEST_SKIP() << "needs root and loop devices";
    machine.write("image", std::string(4096, 'x'));
    const auto device = LoopDevices().attach(machine / "image");
    ASSERT_TRUE(device) << device.error().message;
    const std::string number = "7:" + device->path().substr(std::string("/dev/loop").size());
    EXPECT_TRUE(hold_block_device(device->path(), number));
    EXPECT_EQ(hold_block_device(device->path(), "8:0").error().message, device->path() + " is not the block device 8:0");
    fs::create_symlink(device->path(), machine / "link");
    EXPECT_FALSE(hold_block_device(machine / "link", number));
}

TEST_F(IscsiTargetsTest, PortalsAndTargetsAreBounded) {
    for (std::size_t i = 0; i < IscsiTargets::MostPortals; ++i)
        ASSERT_TRUE(run(targets->add_portal({"10.0.1." + std::to_string(i), 3260})));
    EXPECT_EQ(run(targets->add_portal(portal)).error().message, "this host has too many iSCSI portals: remove one");
    EXPECT_TRUE(run(targets->add_portal({"10.0.1.7", 3260}))) << "is there";
    ASSERT_TRUE(run(targets->remove_portal({"10.0.1.0", 3260})));
    for (std::size_t i = 0; i < IscsiTargets::MostTargets; ++i)
        programs.add_session(Other + std::to_string(i), "porthole-windows-1-0123abcd");
    EXPECT_EQ(connect().error().message, "this host is connected to too many iSCSI targets: disconnect one");
}

TEST_F(IscsiTargetsTest, WhatTheMachineLacksIsNamed) {
    programs.failures = {{"--login", 20}};
    EXPECT_EQ(connect().error().message,
              "iSCSI targets are not available on this host: iscsid or the kernel of the machine that emulates it does not answer: "
              "iscsiadm: as told "
              "(package open-iscsi)");
    programs.failures = {{"iface.initiatorname", 7}};
    IscsiInitiator without_kernel{services("windows-1")};
    const auto found = run(without_kernel.discover("10.0.0.9:3260"));
    EXPECT_EQ(found.error().reason, Reason::MethodNotAllowed);
    EXPECT_TRUE(
        found.error().message.starts_with("iSCSI targets are not available on this host: the machine that emulates it cannot use iSCSI: "));
    machine.write("etc/iscsi/iscsid.conf",
                  "# discovery.sendtargets.auth.password = x\n  discovery.sendtargets.auth.password = of the machine\n");
    programs.failures.clear();
    EXPECT_EQ(run(targets->add_portal(portal)).error().reason, Reason::Conflict) << "a driver's portal could guess it";
    fs::remove(machine / "sbin/iscsiadm");
    const std::string missing =
        "iSCSI targets are not available on this host: the machine that emulates it has no iscsiadm (package open-iscsi)";
    EXPECT_EQ(run(targets->portals()).error().message, missing);
    EXPECT_EQ(run(targets->add_portal(portal)).error().message, missing);
    EXPECT_EQ(run(targets->discover(portal)).error().message, missing);
    EXPECT_EQ(run(targets->disks_of(portal, Disk)).error().message, missing);
    EXPECT_EQ(run(targets->set_mutual_secret("secret-word-1")).error().message, missing);
}

}  // namespace
}  // namespace porthole::winhost
