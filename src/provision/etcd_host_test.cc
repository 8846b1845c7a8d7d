// The commands of a member's machine, run by a real shell in directories that stand for the machine's.
#include "provision/etcd_host.h"

#include <gmock/gmock.h>

#include "net/tls/x509.h"
#include "provision/etcd_certificates.h"
#include "provision/etcd_files.h"
#include "provision/local_shell_fixture.h"

namespace porthole::provision {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct EtcdHostTest : ServiceHostFixture {
    EtcdHostTest() {
        plane.cluster = "prod";
        plane.own_etcd.emplace();
        tool("systemctl", "[ \"$1\" != is-active ]");
        tool("etcd", "echo 'etcd Version: 3.5.9'; echo 'Git SHA: none'");
        // This machine has no user of etcd, and gets none.
        tool("getent", "exit 0");
        for (const char* name : {"chown", "chgrp"}) tool(name, "exit 0");
        tool("install",
             "n=$#; i=0; while [ $i -lt $n ]; do w=$1; shift; i=$((i+1)); case $w in -o|-g) shift; i=$((i+1));; *) set -- \"$@\" \"$w\";; "
             "esac; done; exec /usr/bin/install \"$@\"");
    }
    void tool(const std::string& name, const std::string& script) {
        write("tools/" + name, "#!/bin/sh\n" + script + "\n");
        fs::permissions(transport.folder + "/tools/" + name, fs::perms::owner_all);
    }
    Result<EtcdFacts> ask() { return result_of(host.ask("etcd")); }
    EtcdFacts make_keys() {
        auto made = result_of(host.make_keys("etcd"));
        EXPECT_TRUE(made) << made.error().message;
        return made ? *made : EtcdFacts();
    }
    void write_all(const EtcdFiles& files) {
        for (const auto& [name, text] : files) {
            const auto written = done(host.write(name, text));
            ASSERT_TRUE(written) << written.error().message;
        }
    }
    fs::perms mode_of(const std::string& name) { return fs::status(transport.folder + "/data-etcd" + name).permissions(); }

    const MachineDescription machine{.name = "cp-1", .ssh = {.address = "192.0.2.1", .user = "root"}};
    EtcdHost host{transport, machine.ssh};
    ControlPlaneDescription plane;
    const SystemTime now = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000));
    const net::CertificateAuthority authority = new_etcd_authority(now);
};

TEST_F(EtcdHostTest, ABareMachineHasOnlyTheProgram) {
    const auto facts = ask();
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_EQ(facts->files + facts->authority_sha256 + facts->token_sha256 + facts->member_public + facts->bootstrap, "");
    EXPECT_FALSE(facts->has_certificates || facts->has_log || facts->is_running || facts->serves_objects);
}

// SEC-16
TEST_F(EtcdHostTest, TheMachineMakesItsKeysAndKeepsThem) {
    const EtcdFacts made = make_keys();
    const auto certificate = issue_for_etcd(authority, made.member_public, "192.0.2.1", now);
    ASSERT_TRUE(certificate) << certificate.error().message;
    const auto info = net::parse_certificate(*certificate);
    EXPECT_EQ(info->subject.ip_addresses, std::vector<std::string>{"192.0.2.1"});
    EXPECT_EQ(info->not_after, net::parse_certificate(authority.certificate_pem())->not_after);
    const auto key = net::PrivateKey::parse(read("data-etcd/member.key"));
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(key->public_der(), info->public_der);
    EXPECT_NE(made.client_public, made.member_public);
    for (const char* name : {"/member.key", "/client.key"}) EXPECT_EQ(mode_of(name), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(mode_of("/data"), fs::perms::owner_all);
    EXPECT_EQ(mode_of("") & fs::perms::others_all, fs::perms::none);

    EXPECT_EQ(make_keys().member_public, made.member_public);
    fs::remove(transport.folder + "/data-etcd/member.key");
    const EtcdFacts again = make_keys();
    EXPECT_NE(again.member_public, made.member_public);
    EXPECT_EQ(again.client_public, made.client_public);
}

TEST_F(EtcdHostTest, WhatIsThereIsKnownByItsHashes) {
    const EtcdFacts made = make_keys();
    const EtcdFiles files = etcd_files(plane, machine, authority, made);
    EXPECT_FALSE(has_etcd_files(*ask(), files, authority));
    write_all({{"ca.crt", authority.certificate_pem()}, {"member.crt", "m"}, {"client.crt", "c"}});
    write_all(files);
    EXPECT_TRUE(has_etcd_files(*ask(), files, authority)) << ask()->files;
    EXPECT_EQ(mode_of("/ca.key"), fs::perms::owner_read | fs::perms::owner_write);
    const auto key = result_of(host.read(PORTHOLE_ETCD_FILES "/ca.key"));
    EXPECT_EQ(*key, authority.key_pem());

    // Other keys, another address, another authority, or a certificate that is gone.
    MachineDescription moved = machine;
    moved.ssh.address = "192.0.2.9";
    EXPECT_FALSE(has_etcd_files(*ask(), etcd_files(plane, moved, authority, *ask()), authority));
    const auto other = new_etcd_authority(now);
    EXPECT_FALSE(has_etcd_files(*ask(), etcd_files(plane, machine, other, *ask()), other));
    fs::remove(transport.folder + "/data-etcd/client.key");
    EXPECT_FALSE(has_etcd_files(*ask(), etcd_files(plane, machine, authority, *ask()), authority));
    make_keys();
    EXPECT_FALSE(has_etcd_files(*ask(), etcd_files(plane, machine, authority, *ask()), authority));
    fs::remove(transport.folder + "/data-etcd/member.crt");
    EXPECT_FALSE(ask()->has_certificates);
}

TEST_F(EtcdHostTest, AMemberIsStartedByItsUnitAndKnownByItsLog) {
    make_keys();
    write_all({{PORTHOLE_ETCD_UNIT, "unit"}, {"bootstrap", "ETCD_INITIAL_CLUSTER=a=https://b:2380\nETCD_INITIAL_CLUSTER_STATE=new\n"}});
    ASSERT_TRUE(done(host.start()));
    EXPECT_EQ(read("units/porthole-etcd.service"), "unit");
    EXPECT_EQ(ask()->bootstrap, "ETCD_INITIAL_CLUSTER=a=https://b:2380\nETCD_INITIAL_CLUSTER_STATE=new\n");
    EXPECT_FALSE(ask()->has_log);
    write("data-etcd/data/member/wal/0.wal", "log");
    EXPECT_TRUE(ask()->has_log);
    EXPECT_TRUE(done(host.wait_for_log()));
    tool("systemctl", "exit 0");
    ASSERT_TRUE(done(host.clear()));
    EXPECT_FALSE(ask()->has_log);
    EXPECT_EQ(mode_of("/data"), fs::perms::owner_all);
}

TEST_F(EtcdHostTest, TheUnitIsOneOfAUserOfItsOwn) {
    const std::string unit = etcd_files(plane, machine, authority, {}).at(PORTHOLE_ETCD_UNIT);
    EXPECT_THAT(unit, HasSubstr("\nUser=porthole-etcd\n"));
    EXPECT_THAT(unit,
                HasSubstr("\nExecStart=/usr/bin/etcd --name=192.0.2.1 --data-dir=/var/lib/porthole-etcd/data --listen-client-urls=https://"
                          "192.0.2.1:2379 "));
    EXPECT_THAT(unit, HasSubstr(" --client-cert-auth=true "));
    EXPECT_THAT(unit, HasSubstr(" --peer-client-cert-auth=true "));
}

TEST_F(EtcdHostTest, WhatCannotRunAMemberIsRefusedWithWhatHelps) {
    const struct {
        const char *says, *error;
    } rows[] = {
        {"echo 'etcd Version: 3.3.25'", "etcd is version 3.3.25, and 3.4 or a newer 3 is needed"},
        {"echo 'etcd Version: 4.0.0'", "etcd is version 4.0.0, and 3.4"},
        {"exit 1", "the machine has no program etcd: apt-get install etcd-server there"},
    };
    for (const auto& row : rows) {
        tool("etcd", row.says);
        const auto refused = ask();
        ASSERT_FALSE(refused) << row.says;
        EXPECT_THAT(refused.error().message, HasSubstr(row.error));
    }
    tool("etcd", "echo 'etcd Version: 3.6.1'");
    write("data/store/store.db", "objects");
    EXPECT_THAT(ask().error().message, HasSubstr("`porthole store migrate`"));
    write("data/store-location", "https://192.0.2.1:2379, /registry");
    EXPECT_TRUE(ask()->serves_objects);
}

}  // namespace
}  // namespace porthole::provision
