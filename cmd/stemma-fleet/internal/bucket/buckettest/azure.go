package buckettest

import (
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Azure is a server with one container, in memory: what the client of this module asks of Azure's blob service. It
// checks no signatures.
type Azure struct {
	mu      sync.Mutex
	objects map[string]object
	blocks  map[string][]byte // by key and number of a block
}

// azurePage is how many objects a page of a list has: few, so that there are several.
const azurePage = 7

type azureList struct {
	XMLName    xml.Name    `xml:"EnumerationResults"`
	Blobs      []azureBlob `xml:"Blobs>Blob"`
	NextMarker string
}

type azureBlob struct {
	Name       string
	Properties struct {
		Changed string `xml:"Last-Modified"`
		Length  int    `xml:"Content-Length"`
		Type    string `xml:"BlobType"`
	}
}

// ServeHTTP answers a request for /ACCOUNT/CONTAINER or a blob in it.
func (a *Azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.objects == nil {
		a.objects, a.blocks = make(map[string]object), make(map[string][]byte)
	}
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3)
	w.Header().Set("x-ms-version", r.Header.Get("x-ms-version"))
	switch q := r.URL.Query(); {
	case len(parts) == 2 && r.Method == http.MethodGet && q.Get("comp") == "list":
		a.list(w, q.Get("prefix"), q.Get("marker"))
	case len(parts) != 3:
		refuse(w, http.StatusBadRequest, "InvalidUri")
	case r.Method == http.MethodPut:
		a.put(w, r, parts[2])
	case r.Method == http.MethodDelete:
		if _, ok := a.objects[parts[2]]; !ok {
			refuse(w, http.StatusNotFound, "BlobNotFound")
			return
		}
		delete(a.objects, parts[2])
		w.WriteHeader(http.StatusAccepted)
	default:
		a.get(w, r, parts[2])
	}
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("x-ms-error-code", why)
	w.WriteHeader(code)
}

func (a *Azure) put(w http.ResponseWriter, r *http.Request, key string) {
	body, err := io.ReadAll(r.Body)
	q := r.URL.Query()
	switch {
	case err != nil:
		return
	case q.Get("comp") == "block":
		a.blocks[key+" "+q.Get("blockid")] = body
	case q.Get("comp") == "blocklist":
		var list struct{ Latest []string }
		if err := xml.Unmarshal(body, &list); err != nil {
			refuse(w, http.StatusBadRequest, "InvalidXmlDocument")
			return
		}
		var whole []byte
		for _, id := range list.Latest {
			whole = append(whole, a.blocks[key+" "+id]...)
		}
		a.objects[key] = object{whole, time.Now()}
	default:
		a.objects[key] = object{body, time.Now()}
	}
	w.WriteHeader(http.StatusCreated)
}

func (a *Azure) get(w http.ResponseWriter, r *http.Request, key string) {
	o, ok := a.objects[key]
	if !ok {
		refuse(w, http.StatusNotFound, "BlobNotFound")
		return
	}
	h := w.Header()
	h.Set("Last-Modified", o.changed.UTC().Format(http.TimeFormat))
	h.Set("ETag", strconv.Quote(strconv.FormatInt(o.changed.UnixNano(), 36)))
	h.Set("x-ms-blob-type", "BlockBlob")
	h.Set("Content-Length", strconv.Itoa(len(o.content)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(o.content)
	}
}

func (a *Azure) list(w http.ResponseWriter, prefix, marker string) {
	var list azureList
	for _, key := range slices.Sorted(maps.Keys(a.objects)) {
		if !strings.HasPrefix(key, prefix) || key < marker {
			continue
		}
		if len(list.Blobs) == azurePage {
			list.NextMarker = key
			break
		}
		var one azureBlob
		one.Name, one.Properties.Type = key, "BlockBlob"
		one.Properties.Changed = a.objects[key].changed.UTC().Format(http.TimeFormat)
		one.Properties.Length = len(a.objects[key].content)
		list.Blobs = append(list.Blobs, one)
	}
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, xml.Header)
	_ = xml.NewEncoder(w).Encode(&list)
}
