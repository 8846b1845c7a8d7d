#include "dns/message.h"

#include <gtest/gtest.h>

namespace porthole::dns {
namespace {

Name name(const char* text) { return Name::parse(text).value(); }
IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

Query query(const char* of = "web.default.svc.cluster.local", Type type = Type::A) {
    return {.id = 0x1234, .recursion_desired = true, .name = name(of), .type = type};
}

TEST(Name, ComparesWithoutCaseAndKeepsIt) {
    EXPECT_EQ(name("Web.Default"), name("web.default."));
    EXPECT_EQ(name("Web.Default").to_string(), "Web.Default.");
    EXPECT_TRUE(name("a.SVC.cluster.local").ends_with(name("Cluster.Local")));
    EXPECT_FALSE(name("xcluster.local").ends_with(name("cluster.local")));
    EXPECT_EQ(Name().to_string(), ".");
    for (const std::string& bad : {std::string("a..b"), std::string(".a"), std::string(64, 'x'), std::string(200, 'x') + ".y"}) {
        EXPECT_FALSE(Name::parse(bad).has_value()) << bad;
    }
}

TEST(Message, ReadsItsOwnQueries) {
    Query sent = query("Web.Example", Type::AAAA);
    sent.dnssec_ok = true;
    const auto read = read_query(write_query(7, sent));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->id, 7);
    EXPECT_EQ(read->name.to_string(), "Web.Example.");
    EXPECT_EQ(read->type, Type::AAAA);
    EXPECT_TRUE(read->edns && read->dnssec_ok && read->recursion_desired);
    EXPECT_EQ(read->payload_size, 1232);
}

TEST(Message, CompressesNames) {
    const Reply reply{.authoritative = true,
                      .answers = {{name("web.default.svc.cluster.local"), Type::A, 5, ip("10.96.0.20")},
                                  {name("web.default.svc.cluster.local"), Type::A, 5, ip("10.96.0.21")}}};
    const std::string message = write_reply(query(), reply, 512);
    const std::string header("\x12\x34\x85\x80\0\1\0\2\0\0\0\0", 12);
    const std::string question("\3web\7default\3svc\7cluster\5local\0\0\1\0\1", 35);
    const std::string record("\xc0\x0c\0\1\0\1\0\0\0\5\0\4\x0a\x60\0", 15);
    EXPECT_EQ(message, header + question + record + "\x14" + record + "\x15");
}

TEST(Message, PointsToTheLongestEndThatWasWrittenWhateverItsCase) {
    const Reply reply{.answers = {{name("WEB.Default.svc.cluster.local"), Type::CNAME, 5, name("a.b.default.SVC.cluster.local")},
                                  {name("b.default.svc.cluster.local"), Type::CNAME, 5, name("a.a.a")},
                                  {name("a.a"), Type::CNAME, 5, name("default.svc.cluster.localx")}}};
    const std::string message = write_reply(query(), reply, 512);
    const std::string header("\x12\x34\x81\x80\0\1\0\3\0\0\0\0", 12);
    const std::string question("\3web\7default\3svc\7cluster\5local\0\0\1\0\1", 35);
    const std::string fixed("\0\5\0\1\0\0\0\5\0", 9);  // CNAME, IN, TTL; the length's first byte
    const std::string first = "\xc0\x0c" + fixed + "\6\1a\1b\xc0\x10";
    const std::string second = "\xc0\x3d" + fixed + std::string("\7\1a\1a\1a\0", 8);
    const std::string third = "\xc0\x4f" + fixed + std::string("\x1c\7default\3svc\7cluster\6localx\0", 29);
    EXPECT_EQ(message, header + question + first + second + third);
}

TEST(Name, CutsLabelsThatAreTooLong) {
    EXPECT_EQ(Name({std::string(70, 'x'), "svc"}).to_string(), std::string(63, 'x') + ".svc.");
    EXPECT_EQ((Name({"a", "b", "c"}).without_last(2) + Name({"d"})).labels(), (std::vector<std::string_view>{"a", "d"}));
}

TEST(Message, MarksWhatDoesNotFitAsTruncated) {
    Reply reply{.authoritative = true};
    for (int i = 0; i < 40; ++i) reply.answers.push_back({query().name, Type::A, 5, ip("10.0.0.1").plus(static_cast<unsigned>(i))});
    const auto cut = read_reply(write_reply(query(), reply, 512));
    ASSERT_TRUE(cut.has_value());
    EXPECT_TRUE(cut->truncated);
    EXPECT_FALSE(cut->has_answers);
    const std::string whole = write_reply(query(), reply, 4096);
    EXPECT_FALSE(read_reply(whole)->truncated);
    EXPECT_EQ(read_reply(whole)->ttl_offsets.size(), 40u);

    Reply with_extras{.answers = {{query().name, Type::A, 5, ip("10.0.0.1")}}, .additional = reply.answers};
    const std::string trimmed = write_reply(query(), with_extras, 512);
    EXPECT_LE(trimmed.size(), 512u);
    EXPECT_FALSE(read_reply(trimmed)->truncated) << "extras are left out silently";
    EXPECT_TRUE(read_reply(trimmed)->has_answers);
}

TEST(Message, ReadsWhatMattersOfOthersReplies) {
    Query asked = query();
    asked.edns = true;
    Reply reply{.answers = {{asked.name, Type::CNAME, 300, name("x.example")}, {name("x.example"), Type::A, 60, ip("192.0.2.1")}}};
    auto view = read_reply(write_reply(asked, reply, 4096)).value();
    EXPECT_EQ(view.least_ttl, 60u);
    EXPECT_TRUE(view.final_opt.has_value());
    EXPECT_EQ(view.question, asked.question_wire());

    reply = {.rcode = Rcode::NxDomain, .authority = {{name("example"), Type::SOA, 900, Soa{name("a"), name("b"), 1, 2, 3, 4, 30}}}};
    view = read_reply(write_reply(asked, reply, 4096)).value();
    EXPECT_EQ(view.rcode, Rcode::NxDomain);
    EXPECT_EQ(view.least_ttl, 30u);
}

TEST(Message, RefusesMalformedOnes) {
    const std::string good = write_query(7, query());
    for (std::size_t size = 12; size < good.size(); ++size) EXPECT_FALSE(read_query(good.substr(0, size)).has_value()) << size;
    const std::string loop("\0\1\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1", 18);
    EXPECT_EQ(read_query(loop).error().reason, Reason::BadRequest) << "a name that points to itself";
    EXPECT_EQ(read_query("short").error().reason, Reason::NotFound);
    EXPECT_EQ(read_query(write_reply(query(), {}, 512)).error().reason, Reason::NotFound) << "a reply is no query";
    EXPECT_EQ(write_format_error(loop), std::string("\0\1\x80\1\0\0\0\0\0\0\0\0", 12));
}

}  // namespace
}  // namespace porthole::dns
