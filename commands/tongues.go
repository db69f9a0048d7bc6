package commands

// elsewhere are the aliases of the catalogue in Nigerian Pidgin, French and Swahili, and longer ways to say a thing. An
// alias that would start a sale stands here only when no ordinary word is a slip away from it.
func elsewhere() map[Name][]string {
	return map[Name][]string{
		Sell: {
			"vendre", "je vends", "échanger", "retirer", "uza", "kuuza", "niuzie", "kubadilisha",
		},
		Balance: {
			"solde", "salio", "salio langu", "combien il me reste",
		},
		Deposit: {
			"adresse", "adresse de dépôt", "donne moi mon adresse", "anwani", "anwani yangu", "nitume wapi", "où est ce que jenvoie",
		},
		Rate: {
			"taux", "quel est le taux", "cest combien", "bei", "bei ya", "wetin be the rate", "dola ni ngapi", "what will i get for",
		},
		Status: {
			"statut", "don enter", "e don enter", "where my money", "where my money dey", "où est mon argent", "pesa yangu iko wapi", "imefika", "est ce que cest passé",
		},
		History: {"historique", "historia", "nionyeshe historia", "mes dernières transactions", "mes transactions"},
		Cancel:  {"annuler", "annulez", "annule", "laisse tomber", "ghairi", "leave am", "cancel am"},
		Support: {
			"parler à un humain", "parler à quelquun", "talk to person", "malalamiko", "kuongea na mtu",
		},
		Help: {
			"aide", "aidez moi", "comment ça marche", "msaada", "how this thing dey work", "how e dey work", "inafanyaje kazi",
		},
		Menu: {"menu principal", "retour", "rudi nyuma", "go back"},
		Stop: {
			"arrêtez de menvoyer", "acha kunitumia", "acheni kunitumia", "no dey send me message",
		},
	}
}
