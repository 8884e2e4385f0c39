// Package papers holds figures that the papers behind stemma's engines report,
// so that tables can show them beside measured ones.
//
// The figures are facts about other programs, in other languages, on other
// machines. Each table says where it is from and what differs.
package papers

import (
	"embed"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/table"
)

//go:embed *.csv
var files embed.FS

// A source is where a table is from and how its setting differs from ours.
type source struct{ title, differs string }

var sources = map[string]source{
	"dacce1": {"DACCE (CGO 2014), table 1",
		"C and C++ programs of SPEC CPU2006 and Parsec 2.1 with their native inputs. " +
			"The first five columns are PCCE's. Six rows cannot be read in the text at hand and are left out."},
	"cccp1": {"CCCP (PEPM 2009), table 1",
		"Java on a Pentium 4 at 2.66 GHz. Overlap: with trees of earlier rules that left native methods out."},
	"cccp2": {"CCCP (PEPM 2009), table 2", "Java: application against class library (JDK)."},
	"cccp3": {"CCCP (PEPM 2009), table 3",
		"Java, client mode, Pentium 4 at 2.66 GHz. The framework alone rewrites code and records nothing."},
	"cccp4": {"CCCP (PEPM 2009), table 4", "Java, server mode, otherwise as table 3."},
	"cccp5": {"CCCP (PEPM 2009), table 5",
		"Java, client mode, one run in a new process: the cost of instrumenting at load time is in it."},
	"cccp6": {"CCCP (PEPM 2009), table 6", "Java, server mode, otherwise as table 5."},
	"lucce1": {"Lucce, table 1",
		"What the paper collects from others; * as marked there. Programs and languages differ from row to row, " +
			"and PCCE and DACCE are for C."},
}

// Names returns the tables that there are.
func Names() []string {
	return []string{"dacce1", "cccp1", "cccp2", "cccp3", "cccp4", "cccp5", "cccp6", "lucce1"}
}

// Table returns a table of a paper. Its columns of text are aligned to the left.
func Table(name string) (*table.Table, error) {
	src, ok := sources[name]
	if !ok {
		return nil, fmt.Errorf("papers: no table %q (have %s)", name, strings.Join(Names(), ", "))
	}
	f, err := files.Open(name + ".csv")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("papers: %s: %w", name, err)
	}
	t := &table.Table{Name: "paper-" + name, Title: "As published: " + src.title, Left: 1, Head: rows[0],
		Rows: rows[1:], Notes: []string{src.differs}}
	if t.Head[1] == "suite" {
		t.Left = 2
	}
	if name == "lucce1" {
		t.Left = len(t.Head)
	}
	return t, nil
}

// Figures the papers state in their text or show without numbers.
const (
	// DACCEOverhead is from section 6.4, about figure 8.
	DACCEOverhead = "DACCE (CGO 2014, section 6.4): on average 2.5 % for PCCE and 2 % for DACCE, on SPEC CPU2006 and " +
		"Parsec 2.1; " +
		"its table 1 has 44 to 34 million calls a second."
	// CCCPOverhead is from tables 3 and 4.
	CCCPOverhead = "CCCP (PEPM 2009, tables 3 and 4): a factor of 4.16 to 4.24 in client mode and 3.27 to 4.14 in " +
		"server mode (geometric means), Java."
	// LucceOverhead is from section 6: figure 5 has no numbers in the text.
	LucceOverhead = `Lucce (section 6, figure 5): DaCapo 9.12 on Java, "much higher than we would like"; the text has no numbers of the figure.`
	// SamplingOverhead is from section 7.1, about figures 9 and 10.
	SamplingOverhead = "ICPE'15 (section 7.1): every 10 ms, JVMTI sampling costs more than 10 % on DaCapo, SPS less " +
		"than 3 %, ISPS close to 2 %; " +
		"on the Scala programs JVMTI 5 %, and every 1 ms about 25 % where ISPS costs less than 10 %. Four cores, Java."
	// SamplingLatency is from section 7.2, about figure 11.
	SamplingLatency = "ICPE'15 (section 7.2, every 1 ms; the text has no numbers of the figure but one): JVMTI's " +
		"median is high with many threads, and with CPU-intensive programs its latency varies, " +
		"up to more than 10 ms, so that fewer samples are taken; SPS and ISPS are slightly lower elsewhere, no " +
		"higher there, and very stable."
	// SamplingStability is from section 7.3, about figure 12.
	SamplingStability = "ICPE'15 (section 7.3; the text has no numbers of the figure): for every program all three " +
		"samplers are about equally stable, for most programs they are stable; " +
		"fop, kiama, scalac, scaladoc and scalaxb vary: over 40 % of their time is in contexts of less than 0.05 % " +
		"each. Averages there are of 100 iterations in warm processes, ours of whole runs."
	// SamplingAgreement is from section 7.3, about figure 13.
	SamplingAgreement = "ICPE'15 (section 7.3): averages of different samplers overlap by more than 70 %, but for " +
		"kiama, scalac and scaladoc; the hot-edge coverage of SPS and JVMTI is over 90 % for all programs, " +
		"that of ISPS with either slightly lower for some, whose stacks the others cut. The text has no other " +
		"numbers of the figure."
	// ACCTAccuracy is from section 4, about figures 1 to 5.
	ACCTAccuracy = "ACCT (Arnold and Sweeney, section 4): javap on about 10,000 lines of Java, the 40 hottest edges " +
		"as bars, without numbers and compared by eye: perfect when every call is sampled; " +
		"no apparent correlation at every 59th with all-new-edges, which is fundamentally incorrect; with last-edge " +
		"small deviations at every 59th, more at every 307th and 1559th, still acceptable."
)
