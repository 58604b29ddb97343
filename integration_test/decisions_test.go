package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// In this file, a decision is what this module chose to do where RFC 9309 or
// another standard leaves a choice.
type decision struct {
	about string
	doc   string   // the package whose doc, or the docs of whose names, state the decision
	says  string   // what these docs say about the decision, word for word
	tests []string // such as "robotsmw.TestFTP"; they fail if the decision does not hold
}

// decisions has a row for each decision. Whoever changes a decision also
// changes its doc and its tests.
var decisions = []decision{
	// The URL that is asked about.
	{"origin", "robotsmw", "An origin is a scheme, a host and a port",
		[]string{"robotsmw/internal/origin.TestGoogleTableWhereARobotsTxtCounts", "robotsmw.TestOriginsAreIsolated"}},
	{"a Host that overrides the URL's", "robotsmw", "Such a Host makes another origin at the same address",
		[]string{"robotsmw.TestHostHeaderMakesAnOrigin", "robotsmw.TestValidatorsOfAVirtualHost"}},
	{"one form of a host", "politeness", "All spellings of a host are one host",
		[]string{"politeness.TestOneHostHasOnePace", "robotsmw.TestSpellingsOfAnOriginShareItsRobotsTxt", "robotsmw.TestOneHostIsSent"}},
	{"a host that is too long", "robotsmw", "So is a host that is longer than a name in the DNS can be",
		[]string{"robotsmw.TestHostLongerThanAnyNameIsRefusedAtOnce", "politeness.TestHostLongerThanAnyName"}},
	{"a target of another authority", "robotsmw", "A request whose target names another authority",
		[]string{"robotsmw.TestTargetThatNamesAnotherOrigin", "politeness.TestTargetOfAnotherHostIsAnError"}},
	{"another name for a path", "robotsmw", "If any of the three is disallowed, so is the URL",
		[]string{"robotsmw.TestAnotherNameForAPath", "robotsmw.TestDecisionNamesThePathThatDecided"}},
	{"ftp", "robotsmw", "ftp is an origin too",
		[]string{"robotsmw.TestFTP"}},
	{"other schemes", "robotsmw", "Other schemes pass through",
		[]string{"robotsmw.TestOtherSchemesAreNotOurs"}},
	{"every method and every hop", "robotsmw", "every hop is checked. Every method is checked too",
		[]string{"robotsmw.TestBlockedRequestIsNeverSent", "robotsmw.TestEveryRedirectHopIsChecked"}},
	{"/robots.txt itself", "robotstxt", `"/robots.txt" is always allowed`,
		[]string{"robotsmw.TestRobotsTxtItselfIsAlwaysAllowed", "robotsmw.TestOtherNamesOfRobotsTxtAreNotExempt"}},
	{"query and fragment", "robotsmw", "The query is matched as it is sent",
		[]string{"robotsmw.TestQueryIsMatchedAsSent", "robotsmw.TestTargetIsWhatIsSent"}},

	// Answers to a request for robots.txt.
	{"2xx", "robotsmw", "Successful (2xx): the file's rules are obeyed, whatever its type",
		[]string{"robotsmw.TestStatusMatrix"}},
	{"a wall's answer", "robotsmw", "A wall is a service that answers in the site's place",
		[]string{"robotsmw.TestAnswersOfWalls", "robotsmw.TestTheGoodCopyOutlastsAWall", "robotsmw.TestPagesOfErrors"}},
	{"content coding", "robotsmw", "An answer may have one content coding and be up to 4 MiB long before decoding",
		[]string{"robotsmw.TestGzipOfEmptyMembers", "robotsmw/internal/fetch.TestManyCodings", "robotsmw/internal/fetch.TestNamesThatAreNoCodings"}},
	{"redirects", "robotsmw", "more than five redirects, or a redirect that leads nowhere",
		[]string{"robotsmw.TestRedirects", "robotsmw.TestLengthOfALocation", "robotsmw.TestCircles"}},
	{"4xx", "robotsmw", "there are no rules; all is allowed",
		[]string{"robotsmw.TestStatusMatrix"}},
	{"401 and 403 as the draft of 1996 had them", "robotsmw", "Options.DisallowForbidden",
		[]string{"robotsmw.TestStatusMatrix"}},
	{"unreachable", "robotsmw", "all is disallowed until the file can be fetched",
		[]string{"robotsmw.TestUnreachableFromTheStart", "robotsmw.TestGoodCopyOutlivesAnOutageOf31Days"}},
	{"the next try", "robotsmw", "else after 1 minute, doubling up to 1 hour",
		[]string{"robotsmw.TestNextTriesOfAnUnreachableOrigin", "robotsmw/internal/record.TestNextTryDoublesFromAMinuteToAnHour"}},
	{"unreachable for 30 days", "robotsmw", "Options.AllowAfter30Days",
		[]string{"robotsmw.TestUnreachableFromTheStart", "robotsmw.TestThirtyDaysSurviveRestarts"}},
	{"a good copy while its host rests", "robotsmw", "the copy is used at once and marked stale",
		[]string{"robotsmw.TestExpiredCopyServesWhileItsHostRests", "robotsmw.TestExpiredCopyDoesNotServeForAnInterval"}},
	{"lifetime of unavailable", "robotsmw", "The record of an unavailable file is kept for the same time",
		[]string{"robotsmw/internal/record.TestLifetime", "robotsmw.TestUnavailableIsNoCopyThatOutlivesAnOutage"}},
	{"what a failure keeps", "robotsmw", "Decision.Cause keeps 300 bytes",
		[]string{"robotsmw/internal/record.TestCause", "robotsmw.TestHugeAnswersLeaveNothingBehind"}},
	{"a fetch that all have left", "robotsmw", "is dropped when the last request that waited for it has left",
		[]string{"robotsmw.TestFetchIsDroppedAndBegunAgain", "robotsmw.TestFetchesUnderWayCountIntoMaxOrigins"}},
	{"full", "robotsmw", "the origin that was used longest ago goes",
		[]string{"robotsmw.TestCacheDropsTheLeastRecentlyUsed", "robotsmw.TestFullOfUnreachableOrigins", "robotsmw/internal/cache.TestUnreachableOriginsShutOutNobody", "politeness.TestFullOfPausedHosts", "politeness.TestFullOfHostsWithinTheirInterval", "politeness.TestKeysAreCopies"}},
	{"lifetime", "robotsmw", "as long as Cache-Control, Expires and Age say (RFC 9111), but for at least 5 minutes and at most 24 hours",
		[]string{"robotsmw/internal/record.TestLifetime", "robotsmw.TestRefreshBeforeTheLifetimeEnds", "robotsmw.TestRevalidation"}},
	{"size", "robotstxt", "only the first [MaxSize] bytes of a file count",
		[]string{"robotsmw.TestOnlyTheFirst500KiBAreRead", "robotsmw/robotstxt.TestRFC9309_2_5_Limits"}},
	{"concurrent first requests", "robotsmw", "it is fetched once",
		[]string{"robotsmw.TestTenThousandCallersOnAColdOriginFetchOnce", "robotsmw.TestLeaderThatGivesUpLeavesTheFetchToTheOthers"}},

	// Lines of a robots.txt.
	{"which group", "robotstxt", "A robot obeys all groups that name it, taken together",
		[]string{"robotsmw/robotstxt.TestGoogleTable_WhichGroup", "robotsmw/robotstxt.TestGoogleTable_Groups"}},
	{"user-agent values with a version", "robotstxt", `one for "ExampleBot/1.0" is`,
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_1_UserAgentLine"}},
	{"a tie of equal length", "robotstxt", "If an Allow and a Disallow are equally long, the Allow decides",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_2_AllowAndDisallow", "robotsmw/robotstxt.TestGoogleTable_WhichRule"}},
	{"percent-encoding", "robotstxt", "a printable ASCII byte is written as itself, and any other byte as an escape",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_2_AllowAndDisallow", "robotsmw/robotstxt.TestRFC9309_2_2_3_SpecialCharacters"}},
	{"length of a pattern", "robotstxt", "the one that is longest in this form, in which an escape counts as three bytes",
		[]string{"robotsmw/robotstxt.TestMatchesTwin"}},
	{"misspellings", "robotstxt", "some frequent misspellings",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_3_1_5_ParsingErrors", "robotsmw/robotstxt.TestLines"}},
	{"a rule without a leading slash", "robotstxt", `no target begins with "f"`,
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_2_AllowAndDisallow"}},
	{"a space inside a pattern", "robotstxt", "A space inside a pattern is %20",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_WhiteSpace"}},
	{"long lines", "robotstxt", "The length of a line is not limited",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_5_Limits"}},
	{"other lines between user-agent lines", "robotstxt", "nothing but a rule ends a group",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_4_OtherRecords"}},
	{"whose is a Crawl-delay", "robotstxt", "A Crawl-delay belongs to the user-agent lines since the previous Crawl-delay of its group",
		[]string{"robotsmw/robotstxt.TestCrawlDelayOfWhom", "robotsmw/robotstxt.TestSharedCorpusCrawlDelays"}},
	{"bytes that are no text", "robotstxt", "Nothing in a file is an error",
		[]string{"robotsmw/robotstxt.TestHostileBodies", "robotsmw/robotstxt.TestRFC9309_2_3_1_5_ParsingErrors"}},
	{"a comment, white space and line ends", "robotstxt", "Lines end with LF, CR LF or CR",
		[]string{"robotsmw/robotstxt.TestLinesAreCountedByEachLineEnd", "robotsmw/robotstxt.TestRFC9309_2_2_WhiteSpace"}},

	// Directives of a page.
	{"restrictions add up", "robotsmeta", "An \"index\" never lifts a \"noindex\"",
		[]string{"robotsmw/robotsmeta.TestUnionTakesTheMoreRestrictive"}},
	{"scopes in X-Robots-Tag", "robotsmeta", "Names and directives are told apart by a list of the directives",
		[]string{"robotsmw/robotsmeta.TestXRobotsTag"}},
	{"dates", "robotsmeta", "the longest text that is a date counts",
		[]string{"robotsmw/robotsmeta.TestDates", "robotsmw/robotsmeta.TestUnavailableAfter"}},
	{"a page that was not examined", "robotsmw", "PageNotExamined",
		[]string{"robotsmw.TestPageStates", "robotsmw.TestPageClosedEarlyIsPartial"}},

	// Order of composition, and pace.
	{"order of composition", "robotsmw", "This package's Transport is outermost",
		[]string{"integration_test.TestCacheBetween", "robotsmw.TestCrawlDelayReachesTheLimiterBelow"}},
	{"the slot of a host", "politeness", "A request holds its slot to the end of its response's body",
		[]string{"politeness.TestSlotIsHeldToTheBodysEnd", "politeness.TestUnreadBodyIsNamedOnce"}},
	{"what rests a host", "politeness", "These pause a host",
		[]string{"politeness.TestWhatRestsAHost", "politeness.TestOneIntervalMore", "politeness.TestRefusalsOfOneMoment"}},
	{"a caller whose deadline comes first", "politeness", "is refused at once with a [*DelayError]",
		[]string{"politeness.TestDeadlineTooEarlyIsRefusedAtOnceAndConsumesNothing", "robotsmw.TestDeadlineBeforeTheSlotOfRobotsTxt"}},
	{"a refused wait is not an outage", "robotsmw", "If the fetch of robots.txt fails in this way, the origin does not count as unreachable",
		[]string{"robotsmw.TestRefusedWaitOfRobotsTxtIsNoOutage"}},
	{"http.Client.Timeout", "politeness", "http.Client.Timeout includes the wait",
		[]string{"politeness.TestAttemptTimeout", "politeness.TestClientTimeoutShorterThanTheWait"}},
	{"replays by net/http", "politeness", "sends a request again by itself",
		[]string{"politeness.TestReplayKeepsThePace_RealConnections", "politeness.TestReplayKeepsThePace_RefusedStream"}},
	{"the fetch of robots.txt and Crawl-delay", "politeness", "waits neither for a Crawl-delay nor behind requests that wait for one",
		[]string{"politeness.TestExemptFetchOfRobotsTxt"}},

	{"quotas that a server tells", "politeness", "A spent quota pauses the host until it is renewed",
		[]string{"politeness.TestQuotasAreKept", "politeness.TestQuotasOnlyLengthen"}},
	{"a field that steers the pace is short", "politeness", "malformed if its lines have more than 4 KiB together",
		[]string{"politeness/internal/headers.TestQuotas_Floods"}},
	{"preferences of several signals", "preference", "signal that denies outweighs all signals that allow",
		[]string{"robotsmw/preference.TestEachPairOfSources"}},
	{"a preference that cannot be read", "preference", "What cannot be read is part of the evidence, and never allows",
		[]string{"robotsmw/preference.TestUnreadable", "robotsmw/preference.TestFloods"}},
	{"a budget for a day", "politeness", "When the Budget is spent, requests are refused",
		[]string{"politeness.TestBudget_Requests", "politeness.TestBudget_Exempt", "politeness.TestBudget_Dir"}},
	{"a refusal in a page's place", "robotsmw", "as Page.Refusal, that a response is a refusal",
		[]string{"robotsmw.TestRefusalsOfPages", "robotsmw.TestARefusalIsHandedOnAndNotTriedAgain"}},

	// Integration with colly.
	{"a transport or proxy that is set after Attach", "collyrobots", "Set them at any time, also on a clone, in a callback or after Collector.Init",
		[]string{"robotsmw/collyrobots.TestNothingIsSentPastTheGuard", "robotsmw/collyrobots.TestOnRequestHeadersOfABareClone"}},
	{"the user's own client", "collyrobots", "A client is copied and not changed",
		[]string{"robotsmw/collyrobots.TestTheUsersClientIsNotChanged"}},
	{"clones", "collyrobots", "each method (also the HEAD of CheckHead), redirects, Retry, and clones made before or after",
		[]string{"robotsmw/collyrobots.TestCloneMadeBeforeAttachSetsATransport", "robotsmw/collyrobots.TestTrapCloneHasNoCallbacks"}},
	{"a timeout that is set after Attach", "collyrobots", "a wait never counts",
		[]string{"robotsmw/collyrobots.TestTrapTimeoutCountsTheWait", "robotsmw/collyrobots.TestTimeoutsUnderALimitRule"}},
	{"colly's own check", "collyrobots", "IgnoreRobotsTxt, to true",
		[]string{"robotsmw/collyrobots.TestTrapRobotsTxtAnswers503", "robotsmw/collyrobots.TestTrapQueryIsSorted"}},
	{"Retry of a refusal", "collyrobots", "a Retry of it only returns the error, as does any Retry at once after a refusal",
		[]string{"robotsmw/collyrobots.TestRetryOfARefusalEnds", "robotsmw/collyrobots.TestRetryOfAFailure"}},
	{"nofollow of a page", "collyrobots", "Their URLs stay unvisited, so a link from another page can still lead there",
		[]string{"robotsmw/collyrobots.TestNoFollow", "robotsmw/collyrobots.TestNoFollowLeavesTheUsersContextAlone"}},

	// Fleets.
	{"one owner per host", "redislimit", "A host has one owner at a time",
		[]string{"politeness.TestFleet_WaitsForTheHost", "politeness.TestFleet_StateIsHandedOver"}},
	{"a session and its trust", "redislimit", "The member trusts its session for one Lease, counted from when it sent the last renewal",
		[]string{"politeness.TestFleet_Trust"}},
	{"state lost", "redislimit", "Every call names the epoch",
		[]string{"integration_test.TestRedisLimitChaos"}},
	{"the engine away", "redislimit", "No request is ever sent without a pace",
		[]string{"integration_test.TestRedisLimitChaos"}},
}

var decisionDocs = map[string]string{
	"robotsmw": "robotsmw", "robotstxt": "robotsmw/robotstxt", "robotsmeta": "robotsmw/robotsmeta", "preference": "robotsmw/preference",
	"collyrobots": "robotsmw/collyrobots", "politeness": "politeness", "redislimit": "politeness/redislimit",
}

func TestDecisions_StandInTheDocs(t *testing.T) {
	docs := make(map[string]string)
	for name, dir := range decisionDocs {
		docs[name] = docsIn(t, filepath.Join("..", filepath.FromSlash(dir)))
	}
	for _, d := range decisions {
		if doc, ok := docs[d.doc]; !ok || !strings.Contains(doc, d.says) {
			t.Errorf("%s: the doc of package %s does not say %q", d.about, d.doc, d.says)
		}
	}
}

// docsIn returns what "go doc -all" shows of the package in a directory: the
// package doc and the docs of all exported names.
func docsIn(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(file)
		ast.Inspect(file, func(n ast.Node) bool {
			if comment, ok := n.(*ast.CommentGroup); ok {
				words = append(words, strings.Fields(comment.Text())...)
			}
			return true
		})
	}
	return strings.Join(words, " ")
}

// The docs of these packages teach in 600 words what most users need. What
// concerns one name or one file stands beside it.
func TestDecisions_LeaveTheDocsShort(t *testing.T) {
	for _, dir := range []string{"politeness", "politeness/redislimit", "robotsmw", "robotsmw/collyrobots", "robotsmw/evidence", "robotsmw/robotstxt"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", filepath.FromSlash(dir), "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Fields(file.Doc.Text())); n > 600 {
			t.Errorf("the doc of package %s has %d words, want 600 at most", dir, n)
		}
	}
}

func TestDecisions_HaveTests(t *testing.T) {
	found := make(map[string][]string)
	for _, d := range decisions {
		if len(d.tests) == 0 {
			t.Errorf("%s: no test is named", d.about)
		}
		for _, test := range d.tests {
			i := strings.LastIndexByte(test, '.')
			dir, name := test[:i], test[i+1:]
			if found[dir] == nil {
				found[dir] = testsOf(t, filepath.Join("..", filepath.FromSlash(dir)))
			}
			if !slices.Contains(found[dir], name) {
				t.Errorf("%s: package %s has no %s", d.about, dir, name)
			}
		}
	}
}

func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
